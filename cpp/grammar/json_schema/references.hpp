// References: from the text of a $ref to the value it names.
//
// "#/definitions/x" is a JSON pointer into the resource it stands in, that is the nearest schema around it with an $id
// (draft 4: id), or into the whole document when that resource has no such place: generators write ids that their own
// references do not respect. Other references are resolved against the base URI (RFC 3986) and looked up among
// the $id and $anchor of the document; nothing is ever fetched.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "grammar/json_schema/value.hpp"

namespace glr::json_schema {

class References {
 public:
  explicit References(const Document& document) : document_(document) {}

  struct Target {
    const Value* value = nullptr;
    std::string pointer;  // from the document's root, "#/..."
  };
  // `at`: the schema with the $ref. Null when there is nothing of that name here.
  Target find(std::string_view reference, const Value& at);

  // How many schemas are a target that a dynamic reference may choose: those with "$dynamicAnchor" of the text's
  // fragment, those with "$recursiveAnchor": true.
  std::size_t count(std::string_view anchor, std::string_view reference);

 private:
  struct Resource {
    const Value* root;
    std::string pointer;
    std::string uri;  // without fragment
  };

  void index();
  static Target follow(const Value& from, std::string_view from_pointer, std::string_view pointer);

  const Document& document_;
  bool indexed_ = false;
  std::unordered_map<const Value*, Resource> resource_of_;  // of every object
  std::map<std::string, Target, std::less<>> by_uri_;
  std::map<std::string, std::size_t, std::less<>> dynamic_;  // by name of $dynamicAnchor; "": $recursiveAnchor
};

}  // namespace glr::json_schema
