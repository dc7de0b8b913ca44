// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/named_option.h"

#include "core/base/text.h"

#include <charconv>
#include <cmath>
#include <vector>

namespace shardscope {

namespace {

constexpr int kMaxNested = 8;

bool isWordByte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9')
        || byte == '_' || byte == '-' || byte == '.' || byte == '+';
}

bool isIdentifier(std::string_view text)
{
    if (text.empty() || (text.front() >= '0' && text.front() <= '9'))
        return false;
    for (const char byte : text) {
        if (!isWordByte(byte) || byte == '-' || byte == '.' || byte == '+')
            return false;
    }
    return true;
}

template <class Number>
std::optional<Number> wholeNumber(std::string_view text)
{
    if (text.starts_with('+'))
        text.remove_prefix(1);
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Reads one value from the left.
class ValueReader
{
public:
    ValueReader(PickleBuilder& builder, std::string_view text)
        : m_builder(builder)
        , m_text(text)
    {
    }

    /// The whole text; kNoNode where it is no value.
    NodeId all()
    {
        std::vector<NodeId> items;
        bool comma = false;
        if (!readItems(0, '\0', items, comma))
            return kNoNode;
        return comma ? m_builder.tuple(items) : items.size() == 1 ? items.front() : kNoNode;
    }

private:
    void skipBlanks()
    {
        while (m_at < m_text.size() && m_text[m_at] == ' ')
            ++m_at;
    }

    /// Items up to `end`, which is taken, or to the end of the text.
    bool readItems(int depth, char end, std::vector<NodeId>& out, bool& comma)
    {
        for (;;) {
            skipBlanks();
            if (atEnd(end))
                return true;
            const NodeId item = readOne(depth);
            if (item == kNoNode)
                return false;
            out.push_back(item);
            skipBlanks();
            if (atEnd(end))
                return true;
            if (m_at >= m_text.size() || m_text[m_at] != ',')
                return false;
            ++m_at;
            comma = true;
        }
    }

    bool atEnd(char end)
    {
        if (end == '\0')
            return m_at == m_text.size();
        if (m_at >= m_text.size() || m_text[m_at] != end)
            return false;
        ++m_at;
        return true;
    }

    NodeId readOne(int depth)
    {
        if (depth > kMaxNested)
            return kNoNode;
        const char first = m_text[m_at];
        if (first == '(' || first == '[') {
            ++m_at;
            std::vector<NodeId> items;
            bool comma = false;
            if (!readItems(depth + 1, first == '(' ? ')' : ']', items, comma))
                return kNoNode;
            if (first == '[')
                return m_builder.list(items);
            return comma || items.empty() ? m_builder.tuple(items) : items.front();
        }
        if (first == '\'' || first == '"') {
            const size_t close = m_text.find(first, m_at + 1);
            if (close == std::string_view::npos)
                return kNoNode;
            const std::string_view text = m_text.substr(m_at + 1, close - m_at - 1);
            m_at = close + 1;
            return text.find('\\') == std::string_view::npos ? m_builder.string(text) : kNoNode;
        }
        const size_t begin = m_at;
        while (m_at < m_text.size() && isWordByte(m_text[m_at]))
            ++m_at;
        return word(m_text.substr(begin, m_at - begin));
    }

    NodeId word(std::string_view text)
    {
        if (text == "None" || text == "null")
            return m_builder.none();
        if (text == "True" || text == "true" || text == "False" || text == "false")
            return m_builder.boolean(text.front() == 'T' || text.front() == 't');
        if (const auto integer = wholeNumber<int64_t>(text))
            return m_builder.integer(*integer);
        if (const auto real = wholeNumber<double>(text))
            return std::isnan(*real) ? kNoNode : m_builder.real(*real);
        return isIdentifier(text) ? m_builder.string(text) : kNoNode;
    }

    PickleBuilder& m_builder;
    std::string_view m_text;
    size_t m_at = 0;
};

} // namespace

Result<NamedOption> parseNamedOption(std::string_view text)
{
    const auto refuse = [&](const std::string& why) {
        return fail(ErrorCode::Usage, "optimizer option `" + std::string(text) + "`: " + why, {},
            "such as lr=1e-3, betas=(0.9, 0.95), or 1:weight_decay=0.0 for param group 1 alone");
    };
    if (!isValidUtf8(text))
        return fail(ErrorCode::Usage, "an optimizer option is not valid UTF-8");
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos)
        return refuse("it is not of the form KEY=VALUE");
    NamedOption out;
    std::string_view key = text.substr(0, equals);
    if (const size_t colon = key.find(':'); colon != std::string_view::npos) {
        out.group = wholeNumber<uint32_t>(key.substr(0, colon));
        if (!out.group)
            return refuse("the text before the colon is not the number of a param group");
        key.remove_prefix(colon + 1);
    }
    if (!isIdentifier(key) || key == "params")
        return refuse("`" + std::string(key) + "` is not the name of an option");
    out.key = key;
    out.value = text.substr(equals + 1);
    PickleBuilder builder;
    SHARDSCOPE_CHECK(optionValue(builder, out.value));
    return out;
}

Result<NodeId> optionValue(PickleBuilder& builder, std::string_view value)
{
    const NodeId node = ValueReader(builder, value).all();
    if (node == kNoNode)
        return fail(ErrorCode::Usage, "`" + std::string(value) + "` is not a value of an optimizer's option",
            {}, "values are spelled as in Python: 1e-3, True, None, (0.9, 0.95), [1, 2], 'text'");
    return node;
}

} // namespace shardscope
