/* SPDX-License-Identifier: MIT */
/* stranger.c - looks like an interpreter of a version that does not exist, and allocates. */
#include <stdint.h>
#include <stdlib.h>

const uint32_t Py_Version = 0x04000000;
char _PyRuntime[4096];
char PyCode_Type[512];
void *volatile kept;

void _PyEval_EvalFrameDefault(void);
void _PyEval_EvalFrameDefault(void)
{
    kept = malloc(12345);
}

int main(void)
{
    _PyEval_EvalFrameDefault();
    return 0;
}
