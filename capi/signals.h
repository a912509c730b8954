/*
 * Handlers of signals that the program has installed without SA_ONSTACK. Such a
 * handler runs on the stack of whatever its thread is doing, and that of a
 * goroutine has no room for it: what lies below it is overwritten.
 */
#ifndef FERRUM_CAPI_SIGNALS_H
#define FERRUM_CAPI_SIGNALS_H

#include <stdint.h>

/** What is done with a handler that lacks the flag. */
enum fm_handlers {
    FM_HANDLERS_UNSEEN = 0, /**< nothing, not even looked for: before init */
    FM_HANDLERS_MEND = 1,   /**< the flag is added */
    FM_HANDLERS_LEAVE = 2   /**< it is reported only */
};

/** Chooses, and looks at the handlers that are there. */
void fm_handlers_choose(enum fm_handlers chosen);
/** Looks at all handlers and reports each that lacks the flag to
 *  fmgo_handler_found, once. Safe from any thread. */
void fm_handlers_look(void);

#endif
