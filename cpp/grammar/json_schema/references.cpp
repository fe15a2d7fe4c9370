#include "grammar/json_schema/references.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "grammar/json_schema/error.hpp"

namespace glr::json_schema {

namespace {

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() + 0 &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr == text.data() + i + 3) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// "scheme:" at the start, as in RFC 3986.
bool absolute(std::string_view uri) {
  const std::size_t colon = uri.find_first_of(":/?#");
  return colon != std::string_view::npos && colon > 0 && uri[colon] == ':';
}

// RFC 3986, section 5.2, for what occurs in schemas: dot segments are left as they are.
std::string resolved(const std::string& base, std::string_view reference) {
  if (absolute(reference) || base.empty()) return std::string(reference);
  if (reference.empty() || reference.front() == '#') return base + std::string(reference);
  const std::size_t scheme = base.find(':');
  if (scheme == std::string::npos) return std::string(reference);
  std::size_t path = scheme + 1;
  if (base.compare(path, 2, "//") == 0) path = std::min(base.find('/', path + 2), base.size());
  if (reference.front() == '/') return base.substr(0, path) + std::string(reference);
  const std::size_t last = base.rfind('/');
  if (last == std::string::npos || last < path) return base.substr(0, path) + '/' + std::string(reference);
  return base.substr(0, last + 1) + std::string(reference);
}

std::string_view without_fragment(std::string_view uri) { return uri.substr(0, std::min(uri.find('#'), uri.size())); }

}  // namespace

References::Target References::follow(const Value& from, std::string_view from_pointer, std::string_view pointer) {
  Target target{&from, std::string(from_pointer)};
  while (!pointer.empty()) {
    if (pointer.front() != '/') return {};
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    std::string key;
    for (std::size_t i = 0; i < end; ++i) {
      if (pointer[i] == '~' && i + 1 < end && (pointer[i + 1] == '0' || pointer[i + 1] == '1'))
        key += pointer[++i] == '0' ? '~' : '/';
      else
        key += pointer[i];
    }
    pointer.remove_prefix(end);
    const Value* next = nullptr;
    if (target.value->kind == ValueKind::Array) {
      std::size_t i = 0;
      const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), i);
      if (error == std::errc{} && stop == key.data() + key.size() && i < target.value->children.size())
        next = target.value->children[i];
    } else {
      next = target.value->find(key);
    }
    if (next == nullptr) return {};
    target.value = next;
    target.pointer = step(target.pointer, key);
  }
  return target;
}

void References::index() {
  if (std::exchange(indexed_, true)) return;
  struct Item {
    const Value* value;
    std::string pointer;
    Resource resource;
  };
  std::vector<Item> todo{{&document_.root(), "#", {&document_.root(), "#", ""}}};
  while (!todo.empty()) {
    Item item = std::move(todo.back());
    todo.pop_back();
    const Value& value = *item.value;
    if (value.kind == ValueKind::Object) {
      const Value* dynamic = value.find("$dynamicAnchor");
      const Value* recursive = value.find("$recursiveAnchor");
      if (dynamic != nullptr && dynamic->kind == ValueKind::String) ++dynamic_[dynamic->text];
      if (recursive != nullptr && recursive->kind == ValueKind::Boolean && recursive->boolean) ++dynamic_[""];
      for (const std::string_view key : {"$id", "id", "$anchor", "$dynamicAnchor"}) {
        const Value* name = value.find(key);
        if (name == nullptr || name->kind != ValueKind::String || name->text.empty()) continue;
        const Target here{&value, item.pointer};
        if (key == "$anchor" || key == "$dynamicAnchor") {
          by_uri_.emplace(item.resource.uri + '#' + name->text, here);
          continue;
        }
        const std::string uri = resolved(item.resource.uri, name->text);
        by_uri_.emplace(uri, here);
        by_uri_.emplace(name->text, here);
        if (name->text.front() == '#') continue;  // draft 4's way to write an anchor
        item.resource = {&value, item.pointer, std::string(without_fragment(uri))};
        by_uri_.emplace(item.resource.uri, here);
      }
      resource_of_.emplace(&value, item.resource);
    }
    for (std::size_t i = 0; i < value.children.size(); ++i) {
      if (value.children[i]->children.empty()) continue;
      todo.push_back({value.children[i],
                      step(item.pointer, value.kind == ValueKind::Object ? value.keys[i] : std::to_string(i)),
                      item.resource});
    }
  }
}

std::size_t References::count(std::string_view anchor, std::string_view reference) {
  index();
  std::string_view name;
  if (anchor == "$dynamicAnchor") name = reference.substr(std::min(reference.find('#'), reference.size() - 1) + 1);
  const auto it = dynamic_.find(name);
  return it == dynamic_.end() ? 0 : it->second;
}

References::Target References::find(std::string_view reference, const Value& at) {
  const std::string decoded = percent_decoded(reference);
  const Value& document = document_.root();
  // The common case needs no index: a pointer, and no $id below the root.
  if (decoded == "#" || decoded.starts_with("#/")) {
    const std::string_view pointer = std::string_view(decoded).substr(1);
    if (indexed_ || document.find("$id") != nullptr || document.find("id") != nullptr) {
      index();
      if (const auto it = resource_of_.find(&at); it != resource_of_.end()) {
        const Target target = follow(*it->second.root, it->second.pointer, pointer);
        if (target.value != nullptr) return target;
      }
    }
    const Target target = follow(document, "#", pointer);
    if (target.value != nullptr || indexed_) return target;
    index();
    const auto it = resource_of_.find(&at);
    return it == resource_of_.end() ? Target{} : follow(*it->second.root, it->second.pointer, pointer);
  }
  index();
  const auto resource = resource_of_.find(&at);
  const std::string uri = resolved(resource == resource_of_.end() ? "" : resource->second.uri, decoded);
  for (const std::string& name : {uri, decoded}) {
    if (const auto it = by_uri_.find(name); it != by_uri_.end()) return it->second;
    const std::string_view whole = without_fragment(name);
    if (whole.size() == name.size()) continue;
    const std::string_view fragment = std::string_view(name).substr(whole.size() + 1);
    if (!fragment.empty() && fragment.front() != '/') continue;
    if (const auto it = by_uri_.find(whole); it != by_uri_.end())
      return follow(*it->second.value, it->second.pointer, fragment);
  }
  return {};
}

}  // namespace glr::json_schema
