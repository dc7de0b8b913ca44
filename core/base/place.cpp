// SPDX-License-Identifier: Apache-2.0
#include "core/base/place.h"

#include "core/base/text.h"

namespace shardscope {

namespace {

struct Writer {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(const std::string& path) const { return path; }
    std::string operator()(const RankCoordinate& rank) const { return rankText(rank); }
    std::string operator()(const RecordPlace& of) const
    {
        return percentEncode(of.path) + '!' + percentEncode(of.record);
    }
    template <class Kind>
    std::string operator()(const Kind& address) const
    {
        return formatAddress(address);
    }
};

} // namespace

Place Place::parsed(std::string_view text)
{
    auto address = parseAddress(text);
    if (!address)
        return text;
    return std::visit([](auto& of) { return Place(std::move(of)); }, *address);
}

std::string Place::text() const
{
    return std::visit(Writer{}, m_value);
}

std::string Place::file() const
{
    if (const auto* path = std::get_if<std::string>(&m_value))
        return *path;
    if (const FileAddress* of = bytes())
        return of->path;
    return record() == nullptr ? std::string() : record()->path;
}

const RankCoordinate* Place::rank() const
{
    if (const FlatAddress* of = flat())
        return &of->rank;
    return std::get_if<RankCoordinate>(&m_value);
}

} // namespace shardscope
