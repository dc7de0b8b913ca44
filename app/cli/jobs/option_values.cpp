// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/option_values.h"

#include "core/base/finding_codes.h"
#include "core/base/nearest_word.h"
#include "core/base/text.h"
#include "core/base/text_cursor.h"
#include "core/layout/slices/slice_rules.h"

#include <algorithm>

namespace shardscope::cli {

namespace {

/// Reads one option that is given into its member.
class ReadValue
{
public:
    ReadValue(const Session& session, const OptionField& field)
        : m_session(session)
        , m_arguments(session.arguments())
        , m_field(field)
        , m_name(field.option.name)
    {
    }

    Status operator()(bool* out) const
    {
        *out = !m_field.inverse;
        return {};
    }
    template <std::integral Number>
    Status operator()(Number* out) const
    {
        const auto number
            = m_field.option.kind == ValueKind::Size ? m_arguments.size(m_name) : m_arguments.count(m_name);
        *out = static_cast<Number>(number.value_or(0)); // within the limits of the option
        return {};
    }
    template <class T>
    Status operator()(std::optional<T>* out) const
    {
        return (*this)(&out->emplace());
    }
    Status operator()(std::string* out) const
    {
        *out = m_arguments.text(m_name);
        if (m_field.option.kind == ValueKind::File) {
            SHARDSCOPE_TRY(*out, m_session.files().readSmall(*out, kPatternsLimitBytes));
        }
        return {};
    }
    Status operator()(std::vector<std::string>* out) const
    {
        *out = words();
        return {};
    }
    Status operator()(std::vector<uint32_t>* out) const
    {
        for (const std::string& word : words()) {
            TextCursor cursor(word);
            if (!cursor.takeNumber(out->emplace_back()) || !cursor.atEnd())
                return fail(
                    ErrorCode::Usage, m_name + " takes whole numbers, separated by commas, as in 0,4,7");
        }
        return {};
    }
    Status operator()(TextPairs* out) const
    {
        for (const std::string& word : words()) {
            const size_t equals = word.find('=');
            if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
                return fail(ErrorCode::Usage,
                    m_name + " " + toValidUtf8(word) + " is not " + m_field.option.valueName);
            out->emplace_back(word.substr(0, equals), word.substr(equals + 1));
        }
        return {};
    }
    Status operator()(const OptionWord& word) const
    {
        word.set(m_arguments.text(m_name)); // one of the choices
        return {};
    }

private:
    [[nodiscard]] std::vector<std::string> words() const
    {
        if (!m_field.commas)
            return m_arguments.all(m_name);
        std::vector<std::string> out;
        for (const std::string& text : m_arguments.all(m_name)) {
            for (size_t begin = 0; begin <= text.size();) {
                const size_t comma = std::min(text.find(',', begin), text.size());
                out.push_back(text.substr(begin, comma - begin));
                begin = comma + 1;
            }
        }
        return out;
    }

    const Session& m_session;
    const Arguments& m_arguments;
    const OptionField& m_field;
    const std::string& m_name;
};

} // namespace

Status readOptions(const Session& session, const OptionFields& fields)
{
    for (const OptionField& field : fields) {
        if (!field.option.name.empty() && session.arguments().has(field.option.name))
            SHARDSCOPE_CHECK(std::visit(ReadValue(session, field), field.value));
    }
    const auto allowed = allowedCodes(session.arguments());
    return allowed ? Status() : forward(allowed.error());
}

Result<std::vector<std::string>> allowedCodes(const Arguments& arguments)
{
    std::vector<std::string> out = arguments.all("--allow");
    const std::vector<std::string> codes(code::all().begin(), code::all().end());
    for (const std::string& allowed : out) {
        if (std::find(codes.begin(), codes.end(), allowed) != codes.end())
            continue;
        return fail(ErrorCode::Usage, "--allow `" + allowed + "`: there is no such finding", {},
            nearestHint(allowed, codes, Hint::command("inspect") + " shows the codes of findings"));
    }
    return out;
}

} // namespace shardscope::cli
