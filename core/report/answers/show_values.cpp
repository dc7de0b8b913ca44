// SPDX-License-Identifier: Apache-2.0
#include "core/layout/present_elements.h"
#include "core/report/answers/show_report.h"

#include <algorithm>

#include <fmt/format.h>

namespace shardscope {

namespace {

Result<ValueRange> rangeOfParam(const Checkpoint& checkpoint, const ParamAddress& address, bool toTheEnd)
{
    const auto param = checkpoint.findParam(address.name);
    if (!param)
        return fail(ErrorCode::NotFound, "the checkpoint has no parameter `" + address.name + "`",
            checkpoint.tagFolder.string(), Hint::command("params") + " lists them");
    const auto states = statesOf(checkpoint, *param);
    if (std::find(states.begin(), states.end(), address.state) == states.end()) {
        std::string known;
        for (const std::string& state : states)
            known += (known.empty() ? "" : ", ") + state;
        return fail(ErrorCode::NotFound, fmt::format("`{}` has no state `{}`", address.name, address.state),
            checkpoint.tagFolder.string(), known.empty() ? "it has no states here" : "it has " + known);
    }
    ValueRange out;
    out.param = *param;
    out.state = address.state;
    const uint64_t elements = checkpoint.params[index(*param)].elements;
    out.begin = address.range ? address.range->first : 0;
    out.end = address.range && !toTheEnd ? address.range->second : elements;
    if (out.begin > out.end || out.end > elements)
        return fail(ErrorCode::Usage,
            fmt::format("elements [{}:{}] are not in `{}`", out.begin, out.end, address.name), {},
            fmt::format("it has {} elements", elements));
    out.dtype = stateDtype(checkpoint, out.param, out.state);
    return out;
}

} // namespace

Result<ValueRange> valueRangeOf(const Checkpoint& checkpoint, const Address& address)
{
    if (const auto* param = std::get_if<ParamAddress>(&address))
        return rangeOfParam(checkpoint, *param, false);
    SHARDSCOPE_TRY(const auto location, locate(checkpoint, address));
    if (!location.param)
        return fail(ErrorCode::NotFound,
            "this position holds no element of a parameter: " + formatAddress(address),
            checkpoint.tagFolder.string(),
            location.padding ? "it is padding; " + Hint::command("layout --address") + " shows more" : "");
    return rangeOfParam(checkpoint, *location.param, true);
}

bool ShownValues::isMissing(uint64_t element) const
{
    return std::any_of(missing.begin(), missing.end(),
        [&](const auto& gap) { return element >= gap.first && element < gap.second; });
}

Result<ShownValues> readValues(
    io::FileSystem& files, const Checkpoint& checkpoint, ValueRange range, uint64_t limit)
{
    ShownValues out;
    out.truncated = range.end - range.begin > limit;
    if (out.truncated)
        range.end = range.begin + limit;
    const uint64_t item = itemSize(range.dtype);
    out.bytes.resize((range.end - range.begin) * item);
    SHARDSCOPE_TRY(out.missing,
        readPresentElements(
            files, checkpoint, {range.param, range.state, range.begin, range.end}, out.bytes));
    out.range = std::move(range);
    return out;
}

} // namespace shardscope
