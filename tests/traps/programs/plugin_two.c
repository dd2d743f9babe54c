/* SPDX-License-Identifier: MIT */
/* plugin_two.c - is loaded at the address of plugin_one.c after that has been unloaded. */
#define PLUGIN_NAME plugin_two_allocate
#define PLUGIN_BYTES 222
#include "plugin_one.c"
