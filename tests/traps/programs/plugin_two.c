/* SPDX-License-Identifier: MIT */
/* plugin_two.c - takes the place of plugin_one.c in memory when that has been unloaded. */
#define PLUGIN_NAME plugin_two_allocate
#define PLUGIN_BYTES 222
#include "plugin_one.c"
