// SPDX-License-Identifier: Apache-2.0
#include "core/base/address.h"

#include "core/base/text.h"
#include "core/base/text_cursor.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

tl::unexpected<Error> noAddress(std::string_view text, std::string_view why)
{
    return fail(ErrorCode::Usage, fmt::format("\"{}\" is not an address: {}", toValidUtf8(text), why), {},
        "write an address as NAME#STATE[120:128], dp3.tp0.pp0/group1+4096@exp_avg or FILE!data/7+512; write "
        "% # ! [ ] + @ inside a name as %HH");
}

std::optional<FlatAddress> parseFlat(std::string_view text)
{
    FlatAddress out;
    TextCursor scanner(text);
    if (!scanner.takeText("dp") || !scanner.takeNumber(out.rank.dp) || !scanner.takeText(".tp")
        || !scanner.takeNumber(out.rank.tp) || !scanner.takeText(".pp") || !scanner.takeNumber(out.rank.pp)
        || !scanner.takeText("/"))
        return std::nullopt;
    out.subgroup = scanner.takeText("sub");
    if (!scanner.takeText("group") || !scanner.takeNumber(out.group) || !scanner.takeText("+")
        || !scanner.takeNumber(out.element))
        return std::nullopt;
    if (uint64_t end = 0; scanner.takeText(":")) {
        if (!scanner.takeNumber(end) || end <= out.element)
            return std::nullopt;
        out.end = end;
    }
    if (scanner.atEnd())
        return out;
    auto state = scanner.takeText("@") ? percentDecode(scanner.rest()) : std::nullopt;
    if (!state || state->empty())
        return std::nullopt;
    out.state = std::move(*state);
    return out;
}

Result<Address> parseParam(std::string_view text, size_t hash)
{
    ParamAddress out;
    std::string_view state = text.substr(hash + 1);
    if (const size_t bracket = state.find('['); bracket != std::string_view::npos) {
        uint64_t begin = 0;
        uint64_t end = 0;
        TextCursor scanner(state.substr(bracket));
        if (!scanner.takeText("[") || !scanner.takeNumber(begin) || !scanner.takeText(":")
            || !scanner.takeNumber(end) || !scanner.takeText("]") || !scanner.atEnd())
            return noAddress(text, "the range is not [BEGIN:END]");
        if (begin >= end)
            return noAddress(text, "the range is empty");
        out.range = {begin, end};
        state = state.substr(0, bracket);
    }
    auto name = percentDecode(text.substr(0, hash));
    auto decodedState = percentDecode(state);
    if (!name || !decodedState)
        return noAddress(text, "a % is not followed by two hex digits");
    if (decodedState->empty())
        return noAddress(text, "no state follows the #");
    out.name = std::move(*name);
    out.state = std::move(*decodedState);
    return out;
}

Result<Address> parseFile(std::string_view text, size_t bang)
{
    const size_t plus = text.rfind('+');
    if (plus == std::string_view::npos || (bang != std::string_view::npos && plus < bang))
        return noAddress(text, "it has neither # nor ! nor +");
    FileAddress out;
    TextCursor scanner(text.substr(plus + 1));
    if (!scanner.takeNumber(out.byte) || !scanner.atEnd())
        return noAddress(text, "no byte number follows the +");
    const bool hasRecord = bang != std::string_view::npos;
    auto path = percentDecode(text.substr(0, hasRecord ? bang : plus));
    auto record = percentDecode(hasRecord ? text.substr(bang + 1, plus - bang - 1) : std::string_view());
    if (!path || !record)
        return noAddress(text, "a % is not followed by two hex digits");
    if (path->empty())
        return noAddress(text, "it names no file");
    if (hasRecord && record->empty())
        return noAddress(text, "it names no record");
    out.path = std::move(*path);
    out.record = std::move(*record);
    return out;
}

struct Formatter {
    std::string operator()(const ParamAddress& address) const
    {
        const std::string name = percentEncode(address.name);
        const std::string text = address.state.empty() ? name : name + '#' + percentEncode(address.state);
        return address.range ? fmt::format("{}[{}:{}]", text, address.range->first, address.range->second)
                             : text;
    }

    std::string operator()(const FlatAddress& address) const
    {
        const std::string text = fmt::format("{}/{}group{}+{}{}", rankText(address.rank),
            address.subgroup ? "sub" : "", address.group, address.element,
            address.end ? fmt::format(":{}", *address.end) : std::string());
        return address.state.empty() ? text : text + '@' + percentEncode(address.state);
    }

    std::string operator()(const FileAddress& address) const
    {
        const std::string path = percentEncode(address.path);
        return address.record.empty()
            ? fmt::format("{}+{}", path, address.byte)
            : fmt::format("{}!{}+{}", path, percentEncode(address.record), address.byte);
    }
};

} // namespace

std::string formatAddress(const Address& address)
{
    return std::visit(Formatter{}, address);
}

Result<Address> parseAddress(std::string_view text)
{
    if (const size_t hash = text.find('#'); hash != std::string_view::npos)
        return parseParam(text, hash);
    const size_t bang = text.find('!');
    if (bang == std::string_view::npos) {
        if (auto flat = parseFlat(text))
            return std::move(*flat);
    }
    return parseFile(text, bang);
}

std::string rankText(const RankCoordinate& rank)
{
    return fmt::format("dp{}.tp{}.pp{}", rank.dp, rank.tp, rank.pp);
}

} // namespace shardscope
