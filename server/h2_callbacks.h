#ifndef H2_CALLBACKS_H
#define H2_CALLBACKS_H

#include <nghttp2/nghttp2.h>

/* What nghttp2 tells us, turned into calls of session.h. Nothing here sends or frees a connection:
 * findings are left in struct h2_conn for the pump. user_data is the h2_conn. */

/* NULL: no memory. */
nghttp2_session_callbacks *h2_callbacks_create(void);
nghttp2_option *h2_option_create(void);

#endif
