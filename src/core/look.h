/* SPDX-License-Identifier: MIT */
/*
 * look.h - lets `plimsoll run --leaks` look at the process before it ends.
 *
 * If there is a socket `.look` in the directory of the run, `run` wants to know what the process can still reach. We
 * connect, send the path of our profile, and wait until the other side closes the connection: meanwhile it stops all
 * threads and reads our memory. If it is killed, the kernel closes the connection.
 */
#ifndef PL_CORE_LOOK_H
#define PL_CORE_LOOK_H

#include "core/process.h"

void pl_look_await(const struct pl_process *process);

#endif
