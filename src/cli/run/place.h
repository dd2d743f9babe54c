/* SPDX-License-Identifier: MIT */
/*
 * place.h - tells whether /dev/shm is a good place for live profiles.
 */
#ifndef PL_PLACE_H
#define PL_PLACE_H

/*
 * Why live profiles should be on the disk of their destination: "this is a container (/.dockerenv): its /dev/shm is
 * lost with it". NULL: /dev/shm is better. `root` is where /proc, /sys and the marks of containers are: "", except in
 * tests. The caller frees it.
 */
char *pl_place_why(const char *root);

#endif
