// template_values.h — JSON as the values of a chat template.
#ifndef FR_JSON_TEMPLATE_VALUES_H
#define FR_JSON_TEMPLATE_VALUES_H
#include "text/jinja/jinja.h"
#include "json/value.h"

// The same value, in memory of `v`; all its strings are marked FR_MARK_MESSAGE. Values nested
// deeper than FR_JSON_MAX_DEPTH become none.
fr_jinja_value fr_json_template_value(fr_jinja_values *v, const json_t *value);

// A tool, or its function alone, without null members. bare: a missing description and missing parameters
// are added. empty: so are properties that the parameters miss.
fr_jinja_value fr_json_tool_value(fr_jinja_values *v, const json_t *tool, bool bare, bool empty);

#endif
