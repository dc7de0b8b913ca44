// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <string_view>

namespace shardscope {

/// A cursor over a name or an address: each take… removes what it recognised from the front, or nothing.
/// The text must outlive it.
class TextCursor
{
public:
    explicit TextCursor(std::string_view text)
        : m_rest(text)
    {
    }

    bool takeText(std::string_view expected)
    {
        if (!m_rest.starts_with(expected))
            return false;
        m_rest.remove_prefix(expected.size());
        return true;
    }

    /// Decimal digits that fit the type; a sign only where the type has one.
    template <class Number>
    bool takeNumber(Number& out)
    {
        const auto [end, error] = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), out);
        if (error != std::errc())
            return false;
        m_rest.remove_prefix(static_cast<size_t>(end - m_rest.data()));
        return true;
    }

    [[nodiscard]] std::string_view rest() const { return m_rest; }
    [[nodiscard]] bool atEnd() const { return m_rest.empty(); }

private:
    std::string_view m_rest;
};

} // namespace shardscope
