/* Shift plans and halo exchanges of weft, for programs in C (and C++: weft.hpp, and Fortran: weft.f90).
 *
 * Compile and link with what `weft config --cflags --libs` prints. A program of one process needs nothing else; one with
 * ranks calls MPI_Init first and hands over a communicator, or starts under mpiexec and calls weft_ranks_launched. weft is
 * built without MPI: it uses the library that the process has loaded, whichever of the interfaces of MPICH, Open MPI and
 * the MPI ABI it has.
 *
 * Every function returns a code; weft_message() says what was wrong. Plans are made once and executed often:
 *
 *     const size_t shape[] = {4, 6};
 *     const weft_shift shifts[] = {{.by = 1, .axis = 0}, {.by = -1, .axis = 1}};
 *     weft_shifts *plan;
 *     if (weft_shifts_plan(&plan, 2, shape, sizeof(double), 2, shifts, 0) != WEFT_OK)
 *         fprintf(stderr, "%s\n", weft_message());
 *     weft_shifts_execute(plan, (const void *[]){x}, (void *[]){down, right});
 *     weft_shifts_free(plan);
 *
 * Element i of a result along an axis is element i + by of the source, as in Fortran's CSHIFT and EOSHIFT. Arrays are in
 * C order (the last axis is contiguous), of elements of any size in bytes, which are moved and never looked at.
 *
 * Objects belong to the thread that made them, and so does MPI; shift plans may be executed by several threads at once.
 * Functions that are called by all ranks together are said to be collective; there, an error of one rank is one of all. */
#ifndef WEFT_H
#define WEFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes. */
#define WEFT_OK 0
#define WEFT_RUN 1    /* something failed: the MPI library, another rank */
#define WEFT_USAGE 2  /* what was asked for cannot be meant */
#define WEFT_DEFECT 3 /* a defect of weft */

/* What was wrong in this thread's last call that failed. It stays until the next one. */
const char *weft_message(void);

/* The version as 0x00MMmmpp: major, minor, patch. */
int weft_version(void);

/* What lies beyond the end of an axis. */
#define WEFT_CIRCULAR 0  /* the other end */
#define WEFT_VALUE 1     /* an element, which is copied when a plan is made */
#define WEFT_ARRAY 2     /* an array of the shape without the axis, which stays the caller's and is read at each execution */
/* Of halos only: */
#define WEFT_KEEP 3      /* nothing: ghosts there are left alone */
#define WEFT_REFLECT 4   /* the elements of that end backwards, without the last one */
#define WEFT_SYMMETRIC 5 /* the elements of that end backwards, the last one first */

/* One shift of a source. Where all but by and axis are 0 it is circular, and of source 0. */
typedef struct {
    int64_t by;        /* any distance, of either sign */
    size_t axis;       /* from 0 */
    int boundary;      /* WEFT_CIRCULAR, WEFT_VALUE or WEFT_ARRAY */
    size_t source;     /* which of several sources, from 0 without gaps */
    const void *value; /* the element or the array */
} weft_shift;

/* Shifts of arrays in one process. */
typedef struct weft_shifts weft_shifts;

/* Plans `count` shifts of arrays of `axes` axes with `element` bytes for each element; `threads` share the work of an
 * execution, 0 has them chosen by size. */
int weft_shifts_plan(weft_shifts **plan, size_t axes, const size_t *shape, size_t element, size_t count,
                     const weft_shift *shifts, int threads);

/* Does them: `sources` has as many arrays as shifts name, `results` an array for each shift. No result may overlap
 * anything else. */
int weft_shifts_execute(const weft_shifts *plan, const void *const *sources, void *const *results);

/* Gives a plan back; NULL is allowed, as for all others. */
void weft_shifts_free(weft_shifts *plan);

/* The ranks that exchange. */
typedef struct weft_ranks weft_ranks;

/* This process alone: no MPI is looked for. */
int weft_ranks_alone(weft_ranks **ranks);

/* All ranks that mpiexec started. MPI is initialised where the program has not done so; then weft_finalize ends it.
 * Collective. */
int weft_ranks_launched(weft_ranks **ranks);

/* The ranks of a communicator; WEFT_COMM(MPI_COMM_WORLD) as comm. Collective. */
int weft_ranks_of(weft_ranks **ranks, uintptr_t comm);
#define WEFT_COMM(comm) ((uintptr_t)(comm))

/* The ranks of a communicator, by Fortran's handle (comm%MPI_VAL of mpi_f08). Collective. */
int weft_ranks_of_fortran(weft_ranks **ranks, int comm);

/* This rank's number, and how many there are. */
int weft_ranks_numbers(const weft_ranks *ranks, size_t *rank, size_t *size);

/* Communicators are given back to MPI here, so before MPI_Finalize. */
void weft_ranks_free(weft_ranks *ranks);

/* Lets go of MPI, and ends it where weft has initialised it: the last call of a program that has used ranks, after all
 * objects were given back and before its own MPI_Finalize. */
void weft_finalize(void);

/* Which rank has which elements of an array. Every axis is divided into blocks of as many consecutive elements as the
 * extent over the ranks of the axis, rounded up; the last block may be shorter, and further ones empty. */
typedef struct weft_geometry weft_geometry;

/* Divides an array; `grid` has the ranks of each axis, NULL has them chosen so that the surface of a block is least.
 * Collective. */
int weft_geometry_make(weft_geometry **geometry, const weft_ranks *ranks, size_t axes, const size_t *shape,
                       const size_t *grid);

/* Of this rank, a number for each axis: its first element, how many it has, and how many a full block has. Memory of an
 * array is for a full block on every rank, with ghosts around it, in C order. */
int weft_geometry_block(const weft_geometry *geometry, size_t *start, size_t *length, size_t *block);

void weft_geometry_free(weft_geometry *geometry);

/* What lies beyond an end, and the element or the array that it names. */
typedef struct {
    int boundary;
    const void *value;
} weft_edge;

/* Messages and copies that are set up once. */
typedef struct weft_exchange weft_exchange;

/* Plans to fill the ghosts around blocks. `widths` has two numbers for each axis: ghosts before and after; `edges` has two
 * edges for each axis, NULL for circular ones. Corners: ghosts across faces only, or across edges and corners too, from
 * the ranks that have them at once or axis by axis. The array is one block with ghosts. Collective. */
#define WEFT_FACES 0
#define WEFT_AT_ONCE 1
#define WEFT_STAGED 2
int weft_halo_plan(weft_exchange **exchange, const weft_ranks *ranks, const weft_geometry *geometry, size_t element,
                   const size_t *widths, const weft_edge *edges, int corners);

/* Plans shifts of distributed arrays, whose blocks have ghosts of these widths around them (NULL: none), which stay as
 * they are. The arrays are the sources, then a result for each shift; boundary arrays are whole on every rank.
 * Collective. */
int weft_polyshift_plan(weft_exchange **exchange, const weft_ranks *ranks, const weft_geometry *geometry, size_t element,
                        const size_t *widths, size_t count, const weft_shift *shifts);

/* Starts an exchange of these arrays; the caller computes on what is not exchanged until `end`, which completes it. All
 * ranks of the plan do so. */
int weft_exchange_begin(weft_exchange *exchange, void *const *arrays);
int weft_exchange_end(weft_exchange *exchange);

/* Both. */
int weft_exchange_execute(weft_exchange *exchange, void *const *arrays);

/* Collective. */
void weft_exchange_free(weft_exchange *exchange);

#ifdef __cplusplus
}
#endif

#endif
