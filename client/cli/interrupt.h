#ifndef CLIENT_CLI_INTERRUPT_H
#define CLIENT_CLI_INTERRUPT_H

#include "morsel.h"

#include <stdbool.h>

/* Ctrl-C: the first cancels the job, the second ends the program at once. SIGTERM is taken as a
 * first Ctrl-C. SIGPIPE is ignored: a reader that went away is seen by write(). */

void interrupt_install(void);

/* The connection whose call a signal breaks off; NULL: none. */
void interrupt_watch(struct morsel_connection *connection);

bool interrupt_came(void);
int interrupt_signal(void); /* the first one's number; 0: none */

#endif
