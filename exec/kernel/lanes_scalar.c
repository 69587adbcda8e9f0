#define LANES_ISA scalar
#include "kernel/lanes.tmpl.h"
