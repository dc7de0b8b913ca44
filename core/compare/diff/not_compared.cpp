// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/not_compared.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/model/require.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Of a kind: there may be one for every parameter.
constexpr size_t kMaxOfCode = 16;

void add(NotCompared& out, NotComparedWhy why)
{
    size_t ofCode = 0;
    for (NotComparedWhy& known : out.why) {
        ofCode += known.code == why.code ? 1 : 0;
        if (known.code == why.code && known.message == why.message && known.where == why.where
            && known.side != why.side) {
            known.side = DiffSide::Both;
            return;
        }
    }
    if (ofCode < kMaxOfCode)
        out.why.push_back(std::move(why));
}

/// Whether a finding is about something that was asked for. Those about options always are.
bool isAsked(const Finding& finding, const std::vector<std::string>& states)
{
    const ParamAddress* param = finding.where.param();
    return states.empty() || finding.code == code::kOptionMismatch
        || std::any_of(states.begin(), states.end(), [&](const std::string& state) {
               return param != nullptr ? param->state == state
                                       : finding.message.find("`" + state + "`") != std::string::npos;
           });
}

void addUnread(
    const Checkpoint& checkpoint, DiffSide side, const std::vector<std::string>& states, NotCompared& out)
{
    for (const Finding* finding : findUnreadStates(checkpoint)) {
        if (isAsked(*finding, states))
            add(out, {std::string(finding->code), side, finding->message, finding->where});
    }
}

void addErrors(const Checkpoint& checkpoint, DiffSide side, NotCompared& out)
{
    for (const Finding& finding : checkpoint.findings) {
        if (finding.severity == Severity::Error)
            add(out, {std::string(finding.code), side, finding.message, finding.where});
    }
}

/// Equal texts do not show that the values are equal where they leave something out.
void addScalars(const std::vector<StateScalar>& scalars, DiffSide side, NotCompared& out)
{
    for (const StateScalar& scalar : scalars) {
        if (!scalar.lacks.empty())
            add(out,
                {std::string(code::kNotSupported), side,
                    "`" + scalar.name + "` has " + std::string(scalar.lacks), {}});
    }
}

} // namespace

void explainNotCompared(
    const NotComparedSides& sides, const std::vector<std::string>& states, NotCompared& out)
{
    if (out.parameters > 0) {
        addErrors(sides.left, DiffSide::Left, out);
        addErrors(sides.right, DiffSide::Right, out);
        if (out.isEmpty())
            add(out, {std::string(code::kStateMissing), DiffSide::Both, "neither side has the elements", {}});
    }
    const size_t before = out.why.size();
    addUnread(sides.left, DiffSide::Left, states, out);
    addUnread(sides.right, DiffSide::Right, states, out);
    out.tensors += static_cast<uint64_t>(std::count_if(out.why.begin() + static_cast<std::ptrdiff_t>(before),
        out.why.end(), [](const NotComparedWhy& why) { return why.code == code::kNotSupported; }));
    addScalars(sides.leftScalars, DiffSide::Left, out);
    addScalars(sides.rightScalars, DiffSide::Right, out);
}

} // namespace shardscope
