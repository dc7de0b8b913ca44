// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace shardscope {

/// Numbers and texts as bytes, between processes of one job. Numbers take 1 to 10 bytes (LEB128).
class WireWriter
{
public:
    void number(uint64_t value);
    void text(std::string_view value);
    /// Its bytes: all processes run the same program.
    template <class Value>
    void plain(const Value& value)
    {
        static_assert(std::is_trivially_copyable_v<Value>);
        text({reinterpret_cast<const char*>(&value), sizeof(value)});
    }
    [[nodiscard]] std::string take() { return std::move(m_bytes); }

private:
    std::string m_bytes;
};

/// Reads them again. After the end, or after bytes that are no number, everything is 0 or empty and isGood()
/// false.
class WireReader
{
public:
    explicit WireReader(std::string_view bytes)
        : m_rest(bytes)
    {
    }

    uint64_t number();
    uint32_t number32();
    std::string text();
    template <class Value>
    Value plain()
    {
        static_assert(std::is_trivially_copyable_v<Value>);
        const std::string bytes = text();
        Value out{};
        if (bytes.size() == sizeof(out))
            std::memcpy(&out, bytes.data(), sizeof(out));
        else
            fail();
        return out;
    }
    /// The length of a list. Every entry takes at least one byte.
    uint64_t count();
    [[nodiscard]] bool isGood() const { return m_isGood; }
    /// For values that the caller finds wrong; an empty text.
    std::string fail()
    {
        m_isGood = false;
        return {};
    }
    [[nodiscard]] bool atEnd() const { return m_rest.empty(); }

private:
    std::string_view m_rest;
    bool m_isGood = true;
};

void writeStatus(WireWriter& out, const Status& status);
Status readStatus(WireReader& in);

} // namespace shardscope
