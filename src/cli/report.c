#include "option.h"
static int report_main(int argc, char **argv)
{
    (void) argc; (void) argv;
    return 0;
}
static const struct pl_option options[] = {{0}};
const struct pl_command pl_command_report = {.name="report",.arguments="FILE|PID",.summary="print a profile for a person",.details="",.examples="",.options=options,.main=report_main};
