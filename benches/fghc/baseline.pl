% The same programs for Prolog systems: deterministic, with cuts where a clause commits. main(Program, N, K).

bench(nrev, N, _) :- range(0, 30, L), repeat_times(N), nrev(L, _), fail.
bench(nrev, _, _).
bench(program1, N, _) :- repeat_times(N), queen([1,2,3,4,5,6,7,8], [], [], _, []), fail.
bench(program1, _, _).
bench(primes, N, K) :- repeat_times(N), integers(2, K, S), sift(S, P), count(P, 0, _), fail.
bench(primes, _, _).
bench(quicksort, N, K) :- random_list(K, 42, [], L), repeat_times(N), sort_list(L, S, []), last_of(S, 0, _), fail.
bench(quicksort, _, _).

repeat_times(N) :- N > 0.
repeat_times(N) :- N > 1, N1 is N - 1, repeat_times(N1).

range(N, N, []) :- !.
range(I, N, [I|L]) :- I1 is I + 1, range(I1, N, L).

app([], Y, Y).
app([A|X], Y, [A|Z]) :- app(X, Y, Z).

nrev([], []).
nrev([H|T], R) :- nrev(T, R1), app(R1, [H], R).

queen([P|U], C, L, I, O) :- app(U, C, N), c1(L, P, 1, N, L, I, X), queen(U, [P|C], L, X, O).
queen([], C, L, I, O) :- full(C, L, I, O).

full([], L, [L|O], O).
full([_|_], _, I, I).

% The list comes first, as Prolog systems choose clauses by the first argument.
c1([P|R], T, D, N, B, I, O) :- T =\= P + D, T =\= P - D, !, D1 is D + 1, c1(R, T, D1, N, B, I, O).
c1([_|_], _, _, _, _, I, I).
c1([], T, _, N, B, I, O) :- queen(N, [], [T|B], I, O).

integers(I, N, []) :- I > N, !.
integers(I, N, [I|S]) :- I1 is I + 1, integers(I1, N, S).

sift([], []).
sift([X|S], [X|P]) :- filter(S, X, T), sift(T, P).

filter([], _, []).
filter([Y|S], X, T) :- Y mod X =\= 0, !, T = [Y|T1], filter(S, X, T1).
filter([_|S], X, T) :- filter(S, X, T).

count([], N, N).
count([_|P], N, C) :- N1 is N + 1, count(P, N1, C).

random_list(0, _, L, L) :- !.
random_list(K, X, L, R) :- K1 is K - 1, X1 is X * 16807 mod 2147483647, random_list(K1, X1, [X1|L], R).

sort_list([], S, S).
sort_list([X|L], S, E) :- partition_list(L, X, Low, High), sort_list(Low, S, [X|M]), sort_list(High, M, E).

partition_list([], _, [], []).
partition_list([Y|L], X, [Y|Low], High) :- Y =< X, !, partition_list(L, X, Low, High).
partition_list([Y|L], X, Low, [Y|High]) :- partition_list(L, X, Low, High).

last_of([], X, X).
last_of([X|S], _, L) :- last_of(S, X, L).
