// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/counted_names.h"

#include <charconv>

namespace shardscope {

/// Only for the one way to write a number, so that "01" is another name than "1".
std::optional<size_t> CountedNames::placeOf(std::string_view name) const
{
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool canonical
        = error == std::errc{} && end == name.data() + name.size() && (name.size() == 1 || name[0] != '0');
    return canonical && number < m_counted.size() ? std::optional<size_t>(number) : std::nullopt;
}

uint32_t& CountedNames::operator[](std::string_view name)
{
    const auto place = placeOf(name);
    return place ? m_counted[*place] : m_others.try_emplace(name, kNone).first->second;
}

std::optional<uint32_t> CountedNames::find(std::string_view name) const
{
    uint32_t number = kNone;
    if (const auto place = placeOf(name)) {
        number = m_counted[*place];
    } else if (const auto other = m_others.find(name); other != m_others.end()) {
        number = other->second;
    }
    return number == kNone ? std::nullopt : std::optional(number);
}

} // namespace shardscope
