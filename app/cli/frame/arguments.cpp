// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/arguments.h"

#include "core/base/shell_quote.h"
#include "core/base/text.h"

#include <charconv>

namespace shardscope::cli {

std::string Parsed::commandLine() const
{
    std::string out = "shardscope";
    for (const std::string& word : words)
        out += " " + shellQuoted(word);
    return out;
}

bool Arguments::has(std::string_view option) const
{
    return m_options.find(option) != m_options.end();
}

std::vector<std::string> Arguments::all(std::string_view option) const
{
    const auto found = m_options.find(option);
    return found == m_options.end() ? std::vector<std::string>() : found->second;
}

std::string Arguments::text(std::string_view option) const
{
    const auto values = all(option);
    return values.empty() ? std::string() : values.back();
}

std::optional<uint64_t> Arguments::count(std::string_view option) const
{
    const std::string value = text(option);
    uint64_t out = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (value.empty() || error != std::errc() || end != value.data() + value.size())
        return std::nullopt;
    return out;
}

std::optional<uint64_t> Arguments::size(std::string_view option) const
{
    const std::string value = text(option);
    return value.empty() ? std::nullopt : parseBytes(value);
}

std::string Arguments::positional(std::string_view name) const
{
    const auto values = allOf(name);
    return values.empty() ? std::string() : values.front();
}

std::vector<std::string> Arguments::allOf(std::string_view positional) const
{
    const auto found = m_positionals.find(positional);
    return found == m_positionals.end() ? std::vector<std::string>() : found->second;
}

void Arguments::set(std::string_view option, std::vector<std::string> values)
{
    m_options.insert_or_assign(std::string(option), std::move(values));
}

void Arguments::setPositional(std::string_view name, std::vector<std::string> values)
{
    if (!values.empty())
        m_positionals.insert_or_assign(std::string(name), std::move(values));
}

void Arguments::addPositional(std::string_view name, std::string value)
{
    m_positionals[std::string(name)].push_back(std::move(value));
}

} // namespace shardscope::cli
