/*
 * Signal handlers that the program installed without SA_ONSTACK. Such a
 * handler runs on the stack of the interrupted code. The stack of a goroutine
 * is too small for it: the handler overwrites the memory below.
 */
#ifndef FERRUM_CAPI_SIGNALS_H
#define FERRUM_CAPI_SIGNALS_H

#include <stdint.h>

/** The action for a handler without the flag. */
enum fm_handlers {
    FM_HANDLERS_UNSEEN = 0, /**< nothing, and no check: before init */
    FM_HANDLERS_MEND = 1,   /**< the flag is added */
    FM_HANDLERS_LEAVE = 2   /**< the handler is only reported */
};

/** Sets the choice, and checks the installed handlers. */
void fm_handlers_choose(enum fm_handlers chosen);
/** Checks all handlers, and reports each handler that lacks the flag once to
 *  fmgo_handler_found. Safe from any thread. */
void fm_handlers_look(void);

#endif
