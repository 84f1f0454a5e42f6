// template_values.h — JSON as the values of a chat template.
#ifndef FR_JSON_TEMPLATE_VALUES_H
#define FR_JSON_TEMPLATE_VALUES_H
#include "text/jinja/jinja.h"
#include "json/value.h"

// The same value, in memory of `v`; all its strings are marked FR_MARK_MESSAGE. What is nested
// deeper than FR_JSON_MAX_DEPTH becomes none.
fr_jinja_value fr_json_template_value(fr_jinja_values *v, const json_t *value);

// A tool, or its function alone; what is null in it is left out. bare: a description and parameters
// are added where there are none; empty: properties, where its parameters have none.
fr_jinja_value fr_json_tool_value(fr_jinja_values *v, const json_t *tool, bool bare, bool empty);

#endif
