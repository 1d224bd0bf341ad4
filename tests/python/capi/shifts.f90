! Reads a 7 by 5 array (in Fortran's order) on standard input, compares shifts with CSHIFT and EOSHIFT and a halo with
! what it must be, and says what is refused.
program shifts
  use weft
  use, intrinsic :: iso_c_binding
  implicit none
  real(c_double), target :: x(7, 5), down(7, 5), right(7, 5), last(7, 5), nine, lines(5)
  real(c_double), target :: block(-1:8, 0:6)
  type(weft_shifts) :: plan
  type(weft_ranks) :: ranks
  type(weft_geometry) :: geometry
  type(weft_exchange) :: halo, moved
  type(weft_edge) :: edges(2, 2)
  integer :: start(2), length(2), full(2), rank, size, ierr, i

  do i = 1, 35
    x(mod(i - 1, 7) + 1, (i - 1)/7 + 1) = i*i
  end do
  nine = 9
  lines = [1, 2, 3, 4, 5]
  call weft_plan_shifts(plan, shape(x), storage_size(x)/8, &
      [weft_shift(by=2, dim=1), weft_shift(by=-1, dim=2, boundary=weft_value, value=c_loc(nine)), &
       weft_shift(by=3, dim=1, boundary=weft_array, value=c_loc(lines))])
  call weft_execute(plan, [c_loc(x)], [c_loc(down), c_loc(right), c_loc(last)])
  if (any(down /= cshift(x, 2, 1))) error stop "cshift"
  if (any(right /= eoshift(x, -1, nine, 2))) error stop "eoshift with a number"
  if (any(last /= eoshift(x, 3, lines, 1))) error stop "eoshift with an array"
  call weft_free(plan)

  call weft_ranks_alone(ranks)
  call weft_rank(ranks, rank, size)
  if (rank /= 0 .or. size /= 1) error stop "ranks"
  call weft_make_geometry(geometry, ranks, shape(x))
  call weft_block(geometry, start, length, full)
  if (any(start /= 1) .or. any(length /= shape(x)) .or. any(full /= shape(x))) error stop "block"
  edges(:, 1) = weft_edge(weft_reflect)
  edges(1, 2) = weft_edge(weft_circular)
  edges(2, 2) = weft_edge(weft_value, c_loc(nine))
  call weft_plan_halo(halo, ranks, geometry, storage_size(x)/8, reshape([2, 1, 1, 1], [2, 2]), edges)
  block = 0
  block(1:7, 1:5) = x
  call weft_execute(halo, [c_loc(block)])
  if (any(block(-1:0, 1:5) /= x(3:2:-1, :)) .or. any(block(8, 1:5) /= x(6, :))) error stop "reflect"
  if (any(block(1:7, 0) /= x(:, 5)) .or. any(block(1:7, 6) /= nine)) error stop "circular and a number"
  call weft_plan_polyshift(moved, ranks, geometry, storage_size(x)/8, [weft_shift(by=-2, dim=2)])
  call weft_begin(moved, [c_loc(x), c_loc(down)])
  call weft_end(moved)
  if (any(down /= cshift(x, -2, 2))) error stop "polyshift"
  call weft_free(moved)
  call weft_free(halo)
  call weft_free(geometry)
  call weft_free(ranks)

  call weft_plan_shifts(plan, shape(x), 8, [weft_shift(by=1, dim=3)], ierr=ierr)
  write (*, "(i0, 1x, a)") ierr, weft_message()
  call weft_plan_shifts(plan, shape(x), 8, [weft_shift(by=1, dim=0)])
end program
