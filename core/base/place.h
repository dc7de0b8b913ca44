// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/address.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace shardscope {

/// A record of a file, as a whole.
struct RecordPlace {
    std::string path; ///< relative to the tag folder
    std::string record;
    bool operator==(const RecordPlace&) const = default;
};

/// What a finding is about: a file or folder, a record of a file, a rank, an address, or nothing in
/// particular.
///
/// A text that is not otherwise typed is a path: of a file or folder, relative to the tag folder, or
/// absolute.
class Place
{
public:
    Place() = default;
    Place(std::string path)
    {
        if (!path.empty())
            m_value = std::move(path);
    }
    Place(std::string_view path)
        : Place(std::string(path))
    {
    }
    Place(const char* path)
        : Place(std::string(path))
    {
    }
    Place(ParamAddress param)
        : m_value(std::move(param))
    {
    }
    Place(FlatAddress flat)
        : m_value(std::move(flat))
    {
    }
    Place(FileAddress bytes)
        : m_value(std::move(bytes))
    {
    }
    Place(RecordPlace record)
        : m_value(std::move(record))
    {
    }
    Place(RankCoordinate rank)
        : m_value(rank)
    {
    }
    /// For text that was written by text(), for example in a manifest: an address or else a path.
    static Place parsed(std::string_view text);

    [[nodiscard]] bool isEmpty() const { return std::holds_alternative<std::monostate>(m_value); }
    /// As reports show it: an address as cli.md spells it, or the path. Empty if isEmpty().
    [[nodiscard]] std::string text() const;
    /// The path, also that of a record or byte; empty for other places.
    [[nodiscard]] std::string file() const;
    /// The rank, also that of a flat buffer; null for other places.
    [[nodiscard]] const RankCoordinate* rank() const;
    [[nodiscard]] const ParamAddress* param() const { return std::get_if<ParamAddress>(&m_value); }
    [[nodiscard]] const FlatAddress* flat() const { return std::get_if<FlatAddress>(&m_value); }
    [[nodiscard]] const FileAddress* bytes() const { return std::get_if<FileAddress>(&m_value); }
    [[nodiscard]] const RecordPlace* record() const { return std::get_if<RecordPlace>(&m_value); }
    bool operator==(const Place&) const = default;

private:
    std::variant<std::monostate, std::string, ParamAddress, FlatAddress, FileAddress, RecordPlace,
        RankCoordinate>
        m_value;
};

} // namespace shardscope
