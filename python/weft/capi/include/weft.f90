! weft.h for Fortran (2008 and later): compile it with your program; `weft config --fflags --libs` prints how.
!
! As everywhere in Fortran, axes (dim) and sources count from 1, arrays are in Fortran's order, and a shift by +1 brings
! the next element, as CSHIFT and EOSHIFT do. Elements are of any type; arrays are handed over by C_LOC, so they have the
! TARGET attribute and are contiguous. Every procedure has an optional last argument ierr, a code of weft.h; without it a
! failure stops the program with its message. weft_message() says what was wrong.
module weft
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private

  integer(c_int), parameter, public :: weft_ok = 0, weft_run = 1, weft_usage = 2, weft_defect = 3
  integer(c_int), parameter, public :: weft_circular = 0, weft_value = 1, weft_array = 2
  integer(c_int), parameter, public :: weft_keep = 3, weft_reflect = 4, weft_symmetric = 5
  integer(c_int), parameter, public :: weft_faces = 0, weft_at_once = 1, weft_staged = 2

  ! One shift: by elements along dim, of the source of this number. The value is C_LOC of an element (weft_value) or of an
  ! array of the shape without dim (weft_array).
  type, public :: weft_shift
    integer(c_int64_t) :: by = 0
    integer :: dim = 1
    integer(c_int) :: boundary = weft_circular
    integer :: source = 1
    type(c_ptr) :: value = c_null_ptr
  end type

  ! What lies beyond the end of an axis.
  type, public, bind(c) :: weft_edge
    integer(c_int) :: boundary = weft_circular
    type(c_ptr) :: value = c_null_ptr
  end type

  ! Objects: made, used, given back by weft_free.
  type, public :: weft_shifts
    type(c_ptr) :: object = c_null_ptr
  end type
  type, public :: weft_ranks
    type(c_ptr) :: object = c_null_ptr
  end type
  type, public :: weft_geometry
    type(c_ptr) :: object = c_null_ptr
    integer :: axes = 0
  end type
  type, public :: weft_exchange
    type(c_ptr) :: object = c_null_ptr
  end type

  ! Of the header, in C's order of axes and counted from 0.
  type, bind(c) :: c_shift
    integer(c_int64_t) :: by
    integer(c_size_t) :: axis
    integer(c_int) :: boundary
    integer(c_size_t) :: source
    type(c_ptr) :: value
  end type

  public :: weft_message, weft_plan_shifts, weft_execute, weft_ranks_alone, weft_ranks_launched, weft_ranks_of
  public :: weft_rank, weft_make_geometry, weft_block, weft_plan_halo, weft_plan_polyshift, weft_begin, weft_end
  public :: weft_free, weft_finalize

  interface weft_execute
    module procedure execute_shifts, execute_exchange
  end interface

  interface weft_free
    module procedure free_shifts, free_ranks, free_geometry, free_exchange
  end interface

  interface
    function c_message() result(text) bind(c, name="weft_message")
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_length(text) result(length) bind(c, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
    function c_shifts_plan(plan, axes, shape, element, count, shifts, threads) result(code) &
        bind(c, name="weft_shifts_plan")
      import :: c_ptr, c_size_t, c_int, c_shift
      type(c_ptr), intent(out) :: plan
      integer(c_size_t), value :: axes, element, count
      integer(c_size_t), intent(in) :: shape(*)
      type(c_shift), intent(in) :: shifts(*)
      integer(c_int), value :: threads
      integer(c_int) :: code
    end function
    function c_shifts_execute(plan, sources, results) result(code) bind(c, name="weft_shifts_execute")
      import :: c_ptr, c_int
      type(c_ptr), value :: plan
      type(c_ptr), intent(in) :: sources(*), results(*)
      integer(c_int) :: code
    end function
    subroutine c_shifts_free(plan) bind(c, name="weft_shifts_free")
      import :: c_ptr
      type(c_ptr), value :: plan
    end subroutine
    function c_ranks_alone(ranks) result(code) bind(c, name="weft_ranks_alone")
      import :: c_ptr, c_int
      type(c_ptr), intent(out) :: ranks
      integer(c_int) :: code
    end function
    function c_ranks_launched(ranks) result(code) bind(c, name="weft_ranks_launched")
      import :: c_ptr, c_int
      type(c_ptr), intent(out) :: ranks
      integer(c_int) :: code
    end function
    function c_ranks_of(ranks, comm) result(code) bind(c, name="weft_ranks_of_fortran")
      import :: c_ptr, c_int
      type(c_ptr), intent(out) :: ranks
      integer(c_int), value :: comm
      integer(c_int) :: code
    end function
    function c_numbers(ranks, rank, size) result(code) bind(c, name="weft_ranks_numbers")
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), value :: ranks
      integer(c_size_t), intent(out) :: rank, size
      integer(c_int) :: code
    end function
    subroutine c_ranks_free(ranks) bind(c, name="weft_ranks_free")
      import :: c_ptr
      type(c_ptr), value :: ranks
    end subroutine
    function c_geometry(geometry, ranks, axes, shape, grid) result(code) bind(c, name="weft_geometry_make")
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), intent(out) :: geometry
      type(c_ptr), value :: ranks, grid
      integer(c_size_t), value :: axes
      integer(c_size_t), intent(in) :: shape(*)
      integer(c_int) :: code
    end function
    function c_block(geometry, start, length, block) result(code) bind(c, name="weft_geometry_block")
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), value :: geometry
      integer(c_size_t), intent(out) :: start(*), length(*), block(*)
      integer(c_int) :: code
    end function
    subroutine c_geometry_free(geometry) bind(c, name="weft_geometry_free")
      import :: c_ptr
      type(c_ptr), value :: geometry
    end subroutine
    function c_halo(exchange, ranks, geometry, element, widths, edges, corners) result(code) &
        bind(c, name="weft_halo_plan")
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), intent(out) :: exchange
      type(c_ptr), value :: ranks, geometry, edges
      integer(c_size_t), value :: element
      integer(c_size_t), intent(in) :: widths(*)
      integer(c_int), value :: corners
      integer(c_int) :: code
    end function
    function c_polyshift(exchange, ranks, geometry, element, widths, count, shifts) result(code) &
        bind(c, name="weft_polyshift_plan")
      import :: c_ptr, c_size_t, c_int, c_shift
      type(c_ptr), intent(out) :: exchange
      type(c_ptr), value :: ranks, geometry
      integer(c_size_t), value :: element, count
      integer(c_size_t), intent(in) :: widths(*)
      type(c_shift), intent(in) :: shifts(*)
      integer(c_int) :: code
    end function
    function c_begin(exchange, arrays) result(code) bind(c, name="weft_exchange_begin")
      import :: c_ptr, c_int
      type(c_ptr), value :: exchange
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_int) :: code
    end function
    function c_end(exchange) result(code) bind(c, name="weft_exchange_end")
      import :: c_ptr, c_int
      type(c_ptr), value :: exchange
      integer(c_int) :: code
    end function
    subroutine c_exchange_free(exchange) bind(c, name="weft_exchange_free")
      import :: c_ptr
      type(c_ptr), value :: exchange
    end subroutine
    subroutine weft_finalize() bind(c, name="weft_finalize")
    end subroutine
  end interface

contains

  ! What was wrong in the last call that failed.
  function weft_message() result(message)
    character(:), allocatable :: message
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: text
    integer :: i
    text = c_message()
    call c_f_pointer(text, letters, [c_length(text)])
    allocate (character(size(letters)) :: message)
    do i = 1, size(letters)
      message(i:i) = letters(i)
    end do
  end function

  subroutine finish(code, ierr)
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: ierr
    if (present(ierr)) then
      ierr = code
    else if (code /= weft_ok) then
      write (error_unit, "(2a)") "weft: ", weft_message()
      error stop
    end if
  end subroutine

  ! Numbers of axes, which C has in the other order.
  pure function reversed(numbers) result(other)
    integer, intent(in) :: numbers(:)
    integer(c_size_t) :: other(size(numbers))
    other = numbers(size(numbers):1:-1)
  end function

  ! Ghosts before and after each axis, as C has them.
  pure function reversed_pairs(pairs) result(other)
    integer, intent(in) :: pairs(:, :)
    integer(c_size_t) :: other(2*size(pairs, 2))
    other = reshape(int(pairs(:, size(pairs, 2):1:-1), c_size_t), [2*size(pairs, 2)])
  end function

  ! Numbers that are no axis or source stay so: C refuses what is too large.
  pure function of_c(shifts, axes) result(other)
    type(weft_shift), intent(in) :: shifts(:)
    integer, intent(in) :: axes
    type(c_shift) :: other(size(shifts))
    integer :: i
    do i = 1, size(shifts)
      other(i)%by = shifts(i)%by
      other(i)%axis = merge(axes - shifts(i)%dim, axes, shifts(i)%dim >= 1 .and. shifts(i)%dim <= axes)
      other(i)%boundary = shifts(i)%boundary
      other(i)%source = merge(shifts(i)%source - 1, huge(0), shifts(i)%source >= 1)
      other(i)%value = shifts(i)%value
    end do
  end function

  ! Plans shifts of arrays of this shape, with so many bytes for an element (storage_size(x)/8).
  subroutine weft_plan_shifts(plan, shape, element, shifts, threads, ierr)
    type(weft_shifts), intent(out) :: plan
    integer, intent(in) :: shape(:), element
    type(weft_shift), intent(in) :: shifts(:)
    integer, intent(in), optional :: threads
    integer, intent(out), optional :: ierr
    integer(c_int) :: count
    count = 0
    if (present(threads)) count = threads
    call finish(c_shifts_plan(plan%object, size(shape, kind=c_size_t), reversed(shape), int(element, c_size_t), &
        size(shifts, kind=c_size_t), of_c(shifts, size(shape)), count), ierr)
  end subroutine

  ! Does them: C_LOC of every source, and of an array for every shift.
  subroutine execute_shifts(plan, sources, results, ierr)
    type(weft_shifts), intent(in) :: plan
    type(c_ptr), intent(in) :: sources(:), results(:)
    integer, intent(out), optional :: ierr
    call finish(c_shifts_execute(plan%object, sources, results), ierr)
  end subroutine

  ! This process alone.
  subroutine weft_ranks_alone(ranks, ierr)
    type(weft_ranks), intent(out) :: ranks
    integer, intent(out), optional :: ierr
    call finish(c_ranks_alone(ranks%object), ierr)
  end subroutine

  ! All ranks that mpiexec started.
  subroutine weft_ranks_launched(ranks, ierr)
    type(weft_ranks), intent(out) :: ranks
    integer, intent(out), optional :: ierr
    call finish(c_ranks_launched(ranks%object), ierr)
  end subroutine

  ! The ranks of a communicator: an integer of mpif.h and module mpi, comm%MPI_VAL of mpi_f08.
  subroutine weft_ranks_of(ranks, comm, ierr)
    type(weft_ranks), intent(out) :: ranks
    integer, intent(in) :: comm
    integer, intent(out), optional :: ierr
    call finish(c_ranks_of(ranks%object, int(comm, c_int)), ierr)
  end subroutine

  ! This rank's number, from 0 as in MPI, and how many there are.
  subroutine weft_rank(ranks, rank, size, ierr)
    type(weft_ranks), intent(in) :: ranks
    integer, intent(out) :: rank, size
    integer, intent(out), optional :: ierr
    integer(c_size_t) :: own, all
    own = 0
    all = 0
    call finish(c_numbers(ranks%object, own, all), ierr)
    rank = int(own)
    size = int(all)
  end subroutine

  ! Divides an array over ranks; grid has the ranks of each axis, where they shall not be chosen.
  subroutine weft_make_geometry(geometry, ranks, shape, grid, ierr)
    type(weft_geometry), intent(out) :: geometry
    type(weft_ranks), intent(in) :: ranks
    integer, intent(in) :: shape(:)
    integer, intent(in), optional :: grid(:)
    integer, intent(out), optional :: ierr
    integer(c_size_t), target :: divided(size(shape))
    type(c_ptr) :: ranks_of_axes
    ranks_of_axes = c_null_ptr
    if (present(grid)) then
      divided = 0
      if (size(grid) == size(shape)) divided = reversed(grid)
      ranks_of_axes = c_loc(divided)
    end if
    geometry%axes = size(shape)
    call finish(c_geometry(geometry%object, ranks%object, size(shape, kind=c_size_t), reversed(shape), ranks_of_axes), &
        ierr)
  end subroutine

  ! Of this rank, for each axis: its first element (from 1), how many it has, and how many a full block has.
  subroutine weft_block(geometry, start, length, block, ierr)
    type(weft_geometry), intent(in) :: geometry
    integer, intent(out) :: start(:), length(:), block(:)
    integer, intent(out), optional :: ierr
    integer(c_size_t) :: numbers(max(1, geometry%axes), 3)
    integer(c_int) :: code
    integer :: axes
    axes = geometry%axes
    numbers = 0
    code = c_block(geometry%object, numbers(:, 1), numbers(:, 2), numbers(:, 3))
    start(1:axes) = int(numbers(axes:1:-1, 1)) + 1
    length(1:axes) = int(numbers(axes:1:-1, 2))
    block(1:axes) = int(numbers(axes:1:-1, 3))
    call finish(code, ierr)
  end subroutine

  ! Plans to fill ghosts: widths(:, dim) before and after, edges(:, dim) beyond both ends (default: circular).
  subroutine weft_plan_halo(exchange, ranks, geometry, element, widths, edges, corners, ierr)
    type(weft_exchange), intent(out) :: exchange
    type(weft_ranks), intent(in) :: ranks
    type(weft_geometry), intent(in) :: geometry
    integer, intent(in) :: element, widths(:, :)
    type(weft_edge), intent(in), optional :: edges(:, :)
    integer(c_int), intent(in), optional :: corners
    integer, intent(out), optional :: ierr
    type(weft_edge), target :: ends(2*geometry%axes)
    type(c_ptr) :: first
    integer(c_int) :: which
    integer :: axis
    first = c_null_ptr
    if (present(edges)) then
      do axis = 1, min(geometry%axes, size(edges, 2))
        ends(2*(geometry%axes - axis) + 1) = edges(1, axis)
        ends(2*(geometry%axes - axis) + 2) = edges(2, axis)
      end do
      if (geometry%axes > 0) first = c_loc(ends)
    end if
    which = weft_faces
    if (present(corners)) which = corners
    call finish(c_halo(exchange%object, ranks%object, geometry%object, int(element, c_size_t), reversed_pairs(widths), &
        first, which), ierr)
  end subroutine

  ! Plans shifts of distributed arrays with ghosts of these widths around their blocks.
  subroutine weft_plan_polyshift(exchange, ranks, geometry, element, shifts, widths, ierr)
    type(weft_exchange), intent(out) :: exchange
    type(weft_ranks), intent(in) :: ranks
    type(weft_geometry), intent(in) :: geometry
    integer, intent(in) :: element
    type(weft_shift), intent(in) :: shifts(:)
    integer, intent(in), optional :: widths(:, :)
    integer, intent(out), optional :: ierr
    integer(c_size_t) :: ghosts(2*geometry%axes)
    ghosts = 0
    if (present(widths)) ghosts = reversed_pairs(widths)
    call finish(c_polyshift(exchange%object, ranks%object, geometry%object, int(element, c_size_t), ghosts, &
        size(shifts, kind=c_size_t), of_c(shifts, geometry%axes)), ierr)
  end subroutine

  ! Starts an exchange: C_LOC of the array, or of sources and results.
  subroutine weft_begin(exchange, arrays, ierr)
    type(weft_exchange), intent(in) :: exchange
    type(c_ptr), intent(in) :: arrays(:)
    integer, intent(out), optional :: ierr
    call finish(c_begin(exchange%object, arrays), ierr)
  end subroutine

  ! Completes it.
  subroutine weft_end(exchange, ierr)
    type(weft_exchange), intent(in) :: exchange
    integer, intent(out), optional :: ierr
    call finish(c_end(exchange%object), ierr)
  end subroutine

  ! Both.
  subroutine execute_exchange(exchange, arrays, ierr)
    type(weft_exchange), intent(in) :: exchange
    type(c_ptr), intent(in) :: arrays(:)
    integer, intent(out), optional :: ierr
    integer(c_int) :: code
    code = c_begin(exchange%object, arrays)
    if (code == weft_ok) code = c_end(exchange%object)
    call finish(code, ierr)
  end subroutine

  subroutine free_shifts(plan)
    type(weft_shifts), intent(inout) :: plan
    call c_shifts_free(plan%object)
    plan%object = c_null_ptr
  end subroutine

  subroutine free_ranks(ranks)
    type(weft_ranks), intent(inout) :: ranks
    call c_ranks_free(ranks%object)
    ranks%object = c_null_ptr
  end subroutine

  subroutine free_geometry(geometry)
    type(weft_geometry), intent(inout) :: geometry
    call c_geometry_free(geometry%object)
    geometry%object = c_null_ptr
  end subroutine

  subroutine free_exchange(exchange)
    type(weft_exchange), intent(inout) :: exchange
    call c_exchange_free(exchange%object)
    exchange%object = c_null_ptr
  end subroutine
end module
