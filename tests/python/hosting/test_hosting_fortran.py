"""What MPICH's libraries of Fortran and C++ ask for besides the functions of C: programs in C call it as these do."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

import weft
from weft.hosting.library import path

INCLUDE = Path(sysconfig.get_path("data")) / "include" / "mpi.h"

pytestmark = [
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.skipif(not INCLUDE.exists(), reason="the headers of the MPICH wheel are not installed"),
]

HEAD = """#include <mpi.h>
#include <stdio.h>
typedef int (*Copy)(void *, int, int, void *, int, void *, void **, int *);
typedef int (*Delete)(void *, int, int, int, void *, void *);
__attribute__((weak)) void MPII_Keyval_set_proxy(int, Copy, Delete);
__attribute__((weak)) void MPII_Grequest_set_lang_f77(int);
__attribute__((weak)) int MPII_Comm_get_attr(int, int, MPI_Aint *, int *, int);
"""

ATTRIBUTES = """
/* The program's own, as Fortran has them: addresses of numbers, and of the code. */
static void copies(int *comm, int *kind, MPI_Aint *extra, MPI_Aint *value, MPI_Aint *copy, int *flag, int *code) {
    *copy = *value + *extra;
    *flag = 1;
    *code = 0;
}
static void deletes(int *comm, int *kind, MPI_Aint *value, MPI_Aint *extra, int *code) {
    printf("deleted %ld\\n", (long) *value);
    *code = 0;
}
/* The library's, which call them. */
static int copy(void *function, int comm, int kind, void *extra, int type, void *value, void **to, int *flag) {
    MPI_Aint old = (MPI_Aint) value, new = 0;
    int code = type == 1 ? 0 : 99;
    ((void (*)(int *, int *, MPI_Aint *, MPI_Aint *, MPI_Aint *, int *, int *)) function)(
        &comm, &kind, extra, &old, &new, flag, &code);
    *to = (void *) new;
    return code;
}
static int delete(void *function, int comm, int kind, int type, void *value, void *extra) {
    MPI_Aint old = (MPI_Aint) value;
    int code = type == 1 ? 0 : 99;
    ((void (*)(int *, int *, MPI_Aint *, MPI_Aint *, int *)) function)(&comm, &kind, &old, extra, &code);
    return code;
}
int main(void) {
    int kind, flag;
    MPI_Aint extra = 100, value, bound;
    MPI_Comm other;
    MPI_Init(0, 0);
    MPI_Comm_create_keyval((MPI_Comm_copy_attr_function *) copies, (MPI_Comm_delete_attr_function *) deletes, &kind,
                           &extra);
    MPII_Keyval_set_proxy(kind, copy, delete);
    MPI_Comm_set_attr(MPI_COMM_SELF, kind, (void *) 7);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPII_Comm_get_attr(other, kind, &value, &flag, 1);
    printf("copied %ld %d\\n", (long) value, flag);
    MPI_Comm_free(&other);
    MPI_Comm_delete_attr(MPI_COMM_SELF, kind);
    MPII_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB + 1, &bound, &flag, 1);  /* Fortran's MPI_TAG_UB */
    int *address;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &address, &flag);
    printf("bound %d\\n", bound == *address);
    MPI_Finalize();
    return 0;
}
"""

REQUESTS = """
static void query(MPI_Aint *extra, MPI_Status *status, int *code) {
    MPI_Status_set_elements(status, MPI_INT, (int) *extra);
    MPI_Status_set_cancelled(status, 0);
    *code = 0;
}
static void frees(MPI_Aint *extra, int *code) {
    *extra = -1;
    *code = 0;
}
static void cancels(MPI_Aint *extra, int *complete, int *code) {
    printf("cancelled %d\\n", *complete);
    *code = 0;
}
int main(void) {
    MPI_Request request;
    MPI_Status status;
    MPI_Aint extra = 5;
    int count;
    MPI_Init(0, 0);
    MPI_Grequest_start((MPI_Grequest_query_function *) query, (MPI_Grequest_free_function *) frees,
                       (MPI_Grequest_cancel_function *) cancels, &extra, &request);
    MPII_Grequest_set_lang_f77(request);
    MPI_Cancel(&request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    printf("count %d, extra %ld\\n", count, (long) extra);
    MPI_Finalize();
    return 0;
}
"""


CXX = """
/* The program's own, as C++ has them: of objects by reference. */
static int copies(int **comm, int kind, void *extra, void *value, void **copy, char *flag) {
    *copy = (char *) value + (MPI_Aint) extra;
    *flag = **comm == MPI_COMM_SELF;
    return 0;
}
static int deletes(int **comm, int kind, void *value, void *extra) {
    printf("deleted %ld, %ld\\n", (long) value, (long) extra);
    return 0;
}
/* The library's, which call them: older ones are told a type, and odd types are those of values of Fortran. */
typedef int (*Copies)(int **, int, void *, void *, void **, char *);
typedef int (*Deletes)(int **, int, void *, void *);
#ifdef TYPED
#define TYPE int type,
#define ODD (type & 1)
#else
#define TYPE
#define ODD 0
#endif
static int copy(void *function, int comm, int kind, void *extra, TYPE void *value, void **to, int *flag) {
    int *object = &comm;
    *flag = 0;
    return ((Copies) function)(&object, kind, extra, ODD ? &value : value, to, (char *) flag);
}
static int delete(void *function, int comm, int kind, TYPE void *value, void *extra) {
    int *object = &comm;
    return ((Deletes) function)(&object, kind, ODD ? &value : value, extra);
}
int main(void) {
    int kind, flag;
    void *value;
    MPI_Comm other;
    MPI_Init(0, 0);
    MPI_Comm_create_keyval((MPI_Comm_copy_attr_function *) copies, (MPI_Comm_delete_attr_function *) deletes, &kind,
                           (void *) 100);
    MPII_Keyval_set_proxy(kind, (Copy) copy, (Delete) delete);
    MPI_Comm_set_attr(MPI_COMM_SELF, kind, (void *) 7);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPI_Comm_get_attr(other, kind, &value, &flag);
    printf("copied %ld %d\\n", (long) value, flag);
    MPI_Comm_free(&other);
    MPI_Comm_delete_attr(MPI_COMM_SELF, kind);
    MPI_Finalize();
    return 0;
}
"""


def printed(folder, capfd, text, *options):
    source = folder / "program.c"
    source.write_text(HEAD + text)
    library = INCLUDE.parent.parent / "lib"
    cc = [
        "cc",
        f"-I{INCLUDE.parent}",
        "-o",
        str(source.with_suffix("")),
        str(source),
        *options,
        f"-L{library}",
        "-lmpi",
    ]
    subprocess.run(cc, check=True)
    weft.run(source.with_suffix(""), on="ipsc860", ranks=1)
    return capfd.readouterr().out.splitlines()


def test_attributes_with_functions_of_fortran_are_copied_and_deleted(tmp_path, capfd):
    assert printed(tmp_path, capfd, ATTRIBUTES) == ["copied 107 1", "deleted 107", "deleted 7", "bound 1"]


def test_generalized_requests_call_functions_of_fortran(tmp_path, capfd):
    assert printed(tmp_path, capfd, REQUESTS) == ["cancelled 0", "count 5, extra -1"]


@pytest.mark.parametrize("options", [["-DTYPED"], []], ids=["told-a-type", "not-told"])
def test_attributes_with_functions_of_cxx_are_copied_and_deleted(tmp_path, capfd, options):
    # The library of C++ is known by its name.
    folder = tmp_path / "libmpichcxx"
    folder.mkdir()
    assert printed(folder, capfd, CXX, *options) == ["copied 107 1", "deleted 107, 100", "deleted 7, 100"]
