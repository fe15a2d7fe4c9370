#include "grammar/json_schema/limits.hpp"

#include <algorithm>

namespace glr::json_schema {

namespace {

constexpr Keyword kKeywords[] = {
    {"type", Support::Exact, "one type or several"},
    {"enum", Support::Exact, "in canonical spelling by default"},
    {"const", Support::Exact, "in canonical spelling by default"},
    {"properties", Support::Exact, ""},
    {"required", Support::Exact, ""},
    {"additionalProperties", Support::Exact, ""},
    {"patternProperties", Support::Exact, "as far as the pattern is regular"},
    {"propertyNames", Support::Exact, ""},
    {"minProperties", Support::Exact, "counts the members as written"},
    {"maxProperties", Support::Exact, "counts the members as written"},
    {"dependencies", Support::Exact, ""},
    {"dependentRequired", Support::Exact, ""},
    {"dependentSchemas", Support::Exact, ""},
    {"items", Support::Exact, "one schema or a list of them"},
    {"prefixItems", Support::Exact, ""},
    {"additionalItems", Support::Exact, "beside a list of items"},
    {"minItems", Support::Exact, ""},
    {"maxItems", Support::Exact, ""},
    {"contains", Support::Exact, ""},
    {"minContains", Support::Exact, ""},
    {"maxContains", Support::Exact, ""},
    {"uniqueItems", Support::Partly, "where the items are enumerated values, or at most one item is allowed"},
    {"minLength", Support::Exact, "in code points"},
    {"maxLength", Support::Exact, "in code points"},
    {"pattern", Support::Partly, "all of ECMA-262 but back-references"},
    {"format", Support::Exact, "the formats listed below; any other name says nothing"},
    {"x-source-span", Support::Partly, "with `source=`: the string is a piece of that document"},
    {"minimum", Support::Exact, "of spellings with an exponent, those with one non-zero digit before the point"},
    {"maximum", Support::Exact, "as minimum"},
    {"exclusiveMinimum", Support::Exact, "a number, or draft 4's boolean"},
    {"exclusiveMaximum", Support::Exact, "a number, or draft 4's boolean"},
    {"multipleOf", Support::Exact, "spellings without an exponent"},
    {"allOf", Support::Exact, ""},
    {"anyOf", Support::Exact, ""},
    {"oneOf", Support::Exact, "overlapping alternatives too"},
    {"not", Support::Exact, ""},
    {"if", Support::Exact, ""},
    {"then", Support::Exact, ""},
    {"else", Support::Exact, ""},
    {"$ref", Support::Partly, "within the schema, recursive ones too; keywords beside it count"},
    {"$defs", Support::Annotation, ""},
    {"definitions", Support::Annotation, ""},
    {"$id", Support::Annotation, "the base of references"},
    {"id", Support::Annotation, "draft 4: the base of references"},
    {"$anchor", Support::Annotation, "a name for references"},
    {"$dynamicAnchor", Support::Annotation, "a name for references"},
    {"$recursiveAnchor", Support::Annotation, "a name for references"},
    {"$schema", Support::Annotation, ""},
    {"nullable", Support::Exact, "OpenAPI: null beside the types in `type`"},
    {"title", Support::Annotation, ""},
    {"description", Support::Annotation, ""},
    {"default", Support::Annotation, ""},
    {"examples", Support::Annotation, ""},
    {"$comment", Support::Annotation, ""},
    {"readOnly", Support::Annotation, ""},
    {"writeOnly", Support::Annotation, ""},
    {"deprecated", Support::Annotation, ""},
    {"contentEncoding", Support::Annotation, ""},
    {"contentMediaType", Support::Annotation, ""},
    {"contentSchema", Support::Annotation, ""},
    {"discriminator", Support::Annotation, "OpenAPI: its oneOf says the same"},
    {"unevaluatedProperties", Support::Partly, "beside any other keyword; not negated"},
    {"unevaluatedItems", Support::Partly, "not beside contains; not negated"},
    {"$dynamicRef", Support::Partly, "where one schema only can be its target"},
    {"$recursiveRef", Support::Partly, "where one schema only can be its target"},
    {"extends", Support::Refused, "draft 3: write allOf"},
    {"disallow", Support::Refused, "draft 3: write not"},
    {"divisibleBy", Support::Refused, "draft 3: write multipleOf"},
};

#define GLR_TIME_SECONDS "([01]\\d|2[0-3]):[0-5]\\d:([0-5]\\d|60)(\\.\\d+)?"
#define GLR_TIME GLR_TIME_SECONDS "([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
#define GLR_LEAP "(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
#define GLR_DATE                                                                                              \
  "(\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))" \
  "|" GLR_LEAP "-02-29)"
#define GLR_LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define GLR_HOST "(?=.{1,253}$)" GLR_LABEL "(\\." GLR_LABEL ")*"
#define GLR_OCTET "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define GLR_IPV4 GLR_OCTET "(\\." GLR_OCTET "){3}"
#define GLR_H16 "[0-9A-Fa-f]{1,4}"
#define GLR_LS32 "(" GLR_H16 ":" GLR_H16 "|" GLR_IPV4 ")"
#define GLR_IPV6                                                                                                   \
  "((" GLR_H16 ":){6}" GLR_LS32 "|::(" GLR_H16 ":){5}" GLR_LS32 "|(" GLR_H16 ")?::(" GLR_H16 ":){4}" GLR_LS32      \
  "|((" GLR_H16 ":){0,1}" GLR_H16 ")?::(" GLR_H16 ":){3}" GLR_LS32 "|((" GLR_H16 ":){0,2}" GLR_H16 ")?::(" GLR_H16 \
  ":){2}" GLR_LS32 "|((" GLR_H16 ":){0,3}" GLR_H16 ")?::" GLR_H16 ":" GLR_LS32 "|((" GLR_H16 ":){0,4}" GLR_H16     \
  ")?::" GLR_LS32 "|((" GLR_H16 ":){0,5}" GLR_H16 ")?::" GLR_H16 "|((" GLR_H16 ":){0,6}" GLR_H16 ")?::)"
// RFC 3986, appendix A.
#define GLR_PCHAR "([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
#define GLR_AUTHORITY                                                \
  "(([A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?(\\[(" GLR_IPV6 \
  "|[Vv][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]|([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(:\\d*)?"
#define GLR_PATHS "(//" GLR_AUTHORITY "(/" GLR_PCHAR "*)*|/(" GLR_PCHAR "+(/" GLR_PCHAR "*)*)?"
#define GLR_TAIL "(\\?(" GLR_PCHAR "|[/?])*)?(#(" GLR_PCHAR "|[/?])*)?"
#define GLR_URI "[A-Za-z][A-Za-z0-9+.-]*:" GLR_PATHS "|" GLR_PCHAR "+(/" GLR_PCHAR "*)*)?" GLR_TAIL
#define GLR_RELATIVE GLR_PATHS "|([A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})+(/" GLR_PCHAR "*)*)?" GLR_TAIL
#define GLR_ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define GLR_EMAIL                                                                                                    \
  "(" GLR_ATOM "(\\." GLR_ATOM ")*|\"([ !#-\\[\\]-~]|\\\\[ -~])*\")@(" GLR_LABEL "(\\." GLR_LABEL ")*|\\[(" GLR_IPV4 \
  "|IPv6:" GLR_IPV6 ")\\])"
#define GLR_DURATION                                                                                    \
  "P(\\d+W|(\\d+Y(\\d+M(\\d+D)?)?|\\d+M(\\d+D)?|\\d+D)(T(\\d+H(\\d+M(\\d+S)?)?|\\d+M(\\d+S)?|\\d+S))?|" \
  "T(\\d+H(\\d+M(\\d+S)?)?|\\d+M(\\d+S)?|\\d+S))"
#define GLR_POINTER "(/([^~/]|~[01])*)*"

constexpr Format kFormats[] = {
    {"date-time", GLR_DATE "[Tt]" GLR_TIME, "RFC 3339; second 60 in any minute"},
    {"date", GLR_DATE, "RFC 3339, with the days of each month and leap years"},
    {"time", GLR_TIME, "RFC 3339; second 60 in any minute"},
    {"duration", GLR_DURATION, "RFC 3339, appendix A"},
    {"email", GLR_EMAIL, "RFC 5321"},
    {"hostname", GLR_HOST, "RFC 1123"},
    {"ipv4", GLR_IPV4, "dotted quad"},
    {"ipv6", GLR_IPV6, "RFC 4291, section 2.2"},
    {"uri", GLR_URI, "RFC 3986, absolute, with or without a fragment"},
    {"uri-reference", "(" GLR_URI "|" GLR_RELATIVE ")", "RFC 3986"},
    {"uuid", "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", "RFC 4122"},
    {"json-pointer", GLR_POINTER, "RFC 6901"},
    {"relative-json-pointer", "(0|[1-9]\\d*)(#|" GLR_POINTER ")", ""},
    {"byte", "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", "OpenAPI: base64, RFC 4648"},
    {"binary", "", "OpenAPI: any string"},
    {"password", "", "OpenAPI: any string"},
    {"float", "", "OpenAPI: any number"},
    {"double", "", "OpenAPI: any number"},
};

}  // namespace

std::span<const Keyword> keywords() { return kKeywords; }
std::span<const Format> formats() { return kFormats; }

const Keyword* find_keyword(std::string_view name) {
  const auto* it =
      std::find_if(std::begin(kKeywords), std::end(kKeywords), [&](const Keyword& k) { return k.name == name; });
  return it == std::end(kKeywords) ? nullptr : it;
}

const Format* find_format(std::string_view name) {
  const auto* it =
      std::find_if(std::begin(kFormats), std::end(kFormats), [&](const Format& f) { return f.name == name; });
  return it == std::end(kFormats) ? nullptr : it;
}

}  // namespace glr::json_schema
