%% The same programs in Erlang. fghc_baseline:main([Program, N, K]).
-module(fghc_baseline).
-export([main/1]).

main([Program, N0, K0]) ->
    N = list_to_integer(N0),
    K = list_to_integer(K0),
    Begin = erlang:monotonic_time(nanosecond),
    bench(list_to_atom(Program), N, K),
    io:format("~w~n", [(erlang:monotonic_time(nanosecond) - Begin) / 1.0e9]),
    halt(0).

bench(nrev, N, _) -> times(N, fun nrev/1, lists:seq(1, 30));
bench(program1, N, _) -> times(N, fun(L) -> queen(L, [], [], []) end, lists:seq(1, 8));
bench(primes, N, K) -> times(N, fun(Last) -> count(sift(integers(2, Last)), 0) end, K);
bench(quicksort, N, K) -> times(N, fun(L) -> last(sort(L, []), 0) end, random(K, 42, []));
bench(demand, N, _) ->
    Self = self(),
    Producer = spawn_link(fun() -> produce(Self, 0) end),
    consume(N, 0, Producer).

times(0, _, _) -> ok;
times(N, F, X) -> F(X), times(N - 1, F, X).

append([], Y) -> Y;
append([A | X], Y) -> [A | append(X, Y)].

nrev([]) -> [];
nrev([H | T]) -> append(nrev(T), [H]).

queen([P | U], C, L, O) -> c1(P, 1, append(U, C), L, L, queen(U, [P | C], L, O));
queen([], [_ | _], _, O) -> O;
queen([], [], L, O) -> [L | O].

c1(T, D, N, [P | R], B, O) when T =/= P + D, T =/= P - D -> c1(T, D + 1, N, R, B, O);
c1(_, _, _, [_ | _], _, O) -> O;
c1(T, _, N, [], B, O) -> queen(N, [], [T | B], O).

integers(I, N) when I > N -> [];
integers(I, N) -> [I | integers(I + 1, N)].

sift([]) -> [];
sift([X | S]) -> [X | sift(filter(X, S))].

filter(_, []) -> [];
filter(X, [Y | S]) when Y rem X =/= 0 -> [Y | filter(X, S)];
filter(X, [_ | S]) -> filter(X, S).

count([], N) -> N;
count([_ | P], N) -> count(P, N + 1).

random(0, _, L) -> L;
random(K, X, L) ->
    Y = X * 16807 rem 2147483647,
    random(K - 1, Y, [Y | L]).

sort([], E) -> E;
sort([X | L], E) ->
    {Low, High} = partition(L, X, [], []),
    sort(Low, [X | sort(High, E)]).

partition([], _, Low, High) -> {Low, High};
partition([Y | L], X, Low, High) when Y =< X -> partition(L, X, [Y | Low], High);
partition([Y | L], X, Low, High) -> partition(L, X, Low, [Y | High]).

last([], X) -> X;
last([X | S], _) -> last(S, X).

produce(Consumer, I) ->
    receive
        ask ->
            Consumer ! {element, I},
            produce(Consumer, I + 1);
        stop ->
            ok
    end.

consume(0, Sum, Producer) ->
    Producer ! stop,
    Sum;
consume(N, Sum, Producer) ->
    Producer ! ask,
    receive
        {element, X} -> consume(N - 1, Sum + X, Producer)
    end.
