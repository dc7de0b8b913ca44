// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/diff_piece.h"

#include "core/checkpoint/zero/zenflow.h"
#include "core/compare/digest/copies_of_masters.h"
#include "core/layout/present_elements.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <cstring>

namespace shardscope {

namespace {

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>; ///< [begin, end)

/// The elements of one side that its rule needs, as numbers. Empty if the optimizer has no such state.
struct StepInputs {
    std::vector<double> weights;
    std::vector<double> first;
    std::vector<double> second;
    UpdateRule rule;
};

std::vector<double> stepOf(const StepInputs& side, double gradient)
{
    std::vector<double> out(side.weights.size());
    nextUpdates(side.rule, {side.weights, side.first, side.second}, gradient, out);
    return out;
}

std::span<const uint8_t> bytesOf(const std::vector<double>& values)
{
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(double)};
}

Comparison compared(const StepInputs& left, const StepInputs& right, double gradient)
{
    const std::vector<double> one = stepOf(left, gradient);
    const std::vector<double> other = stepOf(right, gradient);
    return plainComparison({DType::Float64, bytesOf(one)}, {DType::Float64, bytesOf(other)}, 0, {});
}

StepComparison compareSteps(const StepInputs& left, const StepInputs& right)
{
    return {compared(left, right, 0), compared(left, right, 1)};
}

/// Whether every float32 is exactly representable as bfloat16 or float16.
bool isRounded(std::span<const uint8_t> masters)
{
    for (const DType dtype : {DType::BFloat16, DType::Float16}) {
        std::vector<uint8_t> narrow(masters.size() / 2);
        std::vector<uint8_t> wide(masters.size());
        convertElements(DType::Float32, masters, dtype, narrow);
        convertElements(dtype, narrow, DType::Float32, wide);
        if (std::equal(wide.begin(), wide.end(), masters.begin()))
            return true;
    }
    return false;
}

/// The number of masters that differ, after rounding, from this copy by more than the last bit.
uint64_t countStale(std::span<const uint8_t> masters, DType copyType, std::span<const uint8_t> copies)
{
    std::vector<uint8_t> rounded(copies.size());
    convertElements(DType::Float32, masters, copyType, rounded);
    const Comparison found = plainComparison({copyType, rounded}, {copyType, copies}, 0, {});
    return found.different - found.lastBit;
}

} // namespace

StepComparison& StepComparison::operator+=(const StepComparison& further)
{
    withoutGradient += further.withoutGradient;
    withUnitGradient += further.withUnitGradient;
    return *this;
}

DiffPiece& DiffPiece::operator+=(const DiffPiece& further)
{
    for (size_t i = 0; i < states.size(); ++i)
        states[i] += further.states[i];
    for (size_t i = 0; i < missing.size(); ++i) {
        for (const size_t side : {0U, 1U})
            missing[i][side] = missing[i][side] || further.missing[i][side];
    }
    for (size_t i = 0; i < runs.size(); ++i) {
        runs[i].different.append(further.runs[i].different);
        for (const size_t side : {0U, 1U})
            runs[i].lacking[side].append(further.runs[i].lacking[side]);
    }
    if (steps && further.steps)
        *steps += *further.steps;
    else
        steps.reset();
    weights += further.weights;
    for (const size_t side : {0U, 1U}) {
        stale[side] += further.stale[side];
        rounded[side] = rounded[side] && further.rounded[side];
    }
    return *this;
}

/// The bytes of every paired state, by side.
struct DiffReader::Buffers {
    std::array<std::vector<std::vector<uint8_t>>, 2> bytes;

    /// A state by its name on that side; empty where it was not read.
    [[nodiscard]] std::span<const uint8_t> find(
        size_t side, const PairedParam& param, std::string_view state) const
    {
        for (size_t i = 0; i < param.states.size(); ++i) {
            const PairedState& pair = param.states[i];
            if ((side == 0 ? pair.left : pair.right) == state)
                return bytes[side][i];
        }
        return {};
    }

    /// The same as numbers.
    [[nodiscard]] std::vector<double> numbers(
        size_t side, const PairedParam& param, std::string_view state) const
    {
        for (const PairedState& pair : param.states) {
            if ((side == 0 ? pair.left : pair.right) != state)
                continue;
            const DType dtype = side == 0 ? pair.leftType : pair.rightType;
            const std::span<const uint8_t> from = find(side, param, state);
            std::vector<double> out(from.size() / itemSize(dtype));
            convertElements(dtype, from, DType::Float64,
                {reinterpret_cast<uint8_t*>(out.data()), out.size() * sizeof(double)});
            return out;
        }
        return {};
    }
};

DiffReader::DiffReader(const DiffInput& input, const Tolerance& tolerance, const ComputeBackend& backend)
    : m_files(input.files)
    , m_sides{&input.left, &input.right}
    , m_rules{UpdateRules(input.left), UpdateRules(input.right)}
    , m_tolerance(tolerance)
    , m_backend(backend)
    , m_job(input.job)
{
    for (const size_t side : {0U, 1U})
        m_copiesAhead[side] = hasZenFlow(*m_sides[side]);
}

void DiffReader::compareNextSteps(const PairedParam& param, const Buffers& buffers, DiffPiece& out) const
{
    std::array<StepInputs, 2> inputs;
    for (const size_t side : {0U, 1U}) {
        StepInputs& in = inputs[side];
        in.rule = m_rules[side].of(side == 0 ? param.left : param.right);
        if (in.rule.kind == UpdateKind::Unknown)
            return;
        const MomentNames names = momentNames(in.rule.kind);
        in.weights = buffers.numbers(side, param, "fp32");
        if (in.weights.empty())
            in.weights = buffers.numbers(side, param, "weight");
        in.first = buffers.numbers(side, param, names.first);
        in.second = buffers.numbers(side, param, names.second);
        const auto lacks = [&](std::string_view moment, const std::vector<double>& values) {
            // SGD has no buffer without momentum, nor before its first step.
            return !moment.empty() && values.size() != in.weights.size()
                && (in.rule.kind != UpdateKind::Sgd
                    || findState(*m_sides[side], side == 0 ? param.left : param.right, moment));
        };
        if (in.weights.empty() || lacks(names.first, in.first) || lacks(names.second, in.second))
            return;
    }
    if (inputs[0].rule.kind == inputs[1].rule.kind)
        out.steps = compareSteps(inputs[0], inputs[1]);
}

Result<std::vector<uint8_t>> DiffReader::load(size_t side, const StateRange& range, DType dtype) const
{
    std::vector<uint8_t> bytes((range.end - range.begin) * itemSize(dtype));
    SHARDSCOPE_CHECK(m_job.poll());
    SHARDSCOPE_CHECK(readElements(m_files, *m_sides[side], range, bytes));
    return bytes;
}

Status DiffReader::compareState(const Piece& piece, size_t i, Buffers& buffers, DiffPiece& out) const
{
    const auto& [param, begin, end] = piece;
    const PairedState& state = param.states[i];
    if (!canCompare(state.leftType, state.rightType))
        return fail(ErrorCode::Unsupported,
            std::string(dtypeName(state.leftType)) + " is not compared with "
                + std::string(dtypeName(state.rightType)),
            param.name);
    std::array<Result<std::vector<uint8_t>>, 2> read{
        load(0, {param.left, state.left, begin, end}, state.leftType), std::vector<uint8_t>()};
    // A checkpoint that is compared with itself, for its copies of masters, is read once.
    const bool same = m_sides[0] == m_sides[1] && param.left == param.right && state.left == state.right;
    read[1] = same ? read[0] : load(1, {param.right, state.right, begin, end}, state.rightType);
    for (const size_t side : {0U, 1U}) {
        if (!read[side] && read[side].error().code != ErrorCode::Refused)
            return forward(read[side].error());
        out.missing[i][side] = !read[side];
        m_job.advance(read[side] ? read[side]->size() : 0);
        buffers.bytes[side].push_back(read[side] ? std::move(*read[side]) : std::vector<uint8_t>());
    }
    if (out.missing[i][0] || out.missing[i][1]) // these elements are reported, not compared
        return same ? Status() : comparePresent(piece, i, out);
    const std::vector<uint8_t>& left = buffers.bytes[0].back();
    const std::vector<uint8_t>& right = buffers.bytes[1].back();
    compareElements({state.leftType, left}, {state.rightType, right}, begin, i, out);
    if (state.left != "fp32" && (state.left != "weight" || state.isCopy))
        return {};
    out.weights = out.states[i];
    if (!out.states[i].areEqual())
        out.rounded = {state.leftType == DType::Float32 && isRounded(left),
            state.rightType == DType::Float32 && isRounded(right)};
    return {};
}

void DiffReader::compareElements(
    const TypedBytes& left, const TypedBytes& right, uint64_t begin, size_t i, DiffPiece& out) const
{
    const Comparison found = m_backend.comparison(left, right, begin, m_tolerance);
    out.states[i] += found;
    out.runs[i].different.append(differentRuns(left, right, begin, found));
}

Status DiffReader::comparePresent(const Piece& piece, size_t i, DiffPiece& out) const
{
    const auto& [param, begin, end] = piece;
    const PairedState& state = param.states[i];
    std::array<std::vector<uint8_t>, 2> bytes;
    std::array<Ranges, 2> lacking;
    bool isKnown = true;
    for (const size_t side : {0U, 1U}) {
        const ParamId id = side == 0 ? param.left : param.right;
        if (m_sides[side]->transposedOrder(id)) { // each element would be a read of its own
            isKnown = false;
            continue;
        }
        bytes[side].resize((end - begin) * itemSize(side == 0 ? state.leftType : state.rightType));
        auto missing = readPresentElements(
            m_files, *m_sides[side], {id, side == 0 ? state.left : state.right, begin, end}, bytes[side]);
        if (missing)
            lacking[side] = std::move(*missing);
        else if (missing.error().code == ErrorCode::Cancelled)
            return forward(missing.error());
        else
            isKnown = false;
    }
    Ranges holes{{end, end}};
    for (const size_t side : {0U, 1U}) {
        if (!isKnown && out.missing[i][side])
            lacking[side] = {{begin, end}};
        for (const auto& [from, to] : lacking[side])
            out.runs[i].lacking[side].add(from, to, to - from);
        holes.insert(holes.end(), lacking[side].begin(), lacking[side].end());
    }
    if (!isKnown)
        return {};
    std::ranges::sort(holes);
    const TypedBytes left{state.leftType, bytes[0]};
    const TypedBytes right{state.rightType, bytes[1]};
    uint64_t at = begin;
    for (const auto& [from, to] : holes) {
        if (from > at)
            compareElements(left.part(at - begin, from - at), right.part(at - begin, from - at), at, i, out);
        at = std::max(at, to);
    }
    return {};
}

/// Compares masters with 16-bit copies of the same side. Reports nothing if either cannot be read.
uint64_t DiffReader::staleCopies(size_t side, const Piece& piece, const Buffers& buffers) const
{
    const auto& [param, begin, end] = piece;
    const ParamId id = side == 0 ? param.left : param.right;
    const auto master = findState(*m_sides[side], id, "fp32");
    const auto copy = findState(*m_sides[side], id, "weight");
    if (m_copiesAhead[side] || !master || !copy || master->dtype != DType::Float32
        || !isCopyType(copy->dtype))
        return 0;
    const std::span<const uint8_t> masters = buffers.find(side, param, "fp32");
    const std::span<const uint8_t> copies = buffers.find(side, param, "weight");
    if (masters.empty())
        return 0; // missing, or not requested
    if (!copies.empty())
        return countStale(masters, copy->dtype, copies);
    const auto read = load(side, {id, "weight", begin, end}, copy->dtype);
    return read ? countStale(masters, copy->dtype, *read) : 0;
}

Result<DiffPiece> DiffReader::read(
    const PairedParam& param, uint64_t begin, uint64_t end, bool measuresSteps) const
{
    DiffPiece out;
    out.states.resize(param.states.size());
    out.missing.resize(param.states.size());
    out.runs.resize(param.states.size());
    if (!param.isPaired() || !param.sameShape || begin == end)
        return out;
    const Piece piece{param, begin, end};
    Buffers buffers;
    bool different = false;
    bool lost = false;
    for (size_t i = 0; i < param.states.size(); ++i) {
        SHARDSCOPE_CHECK(compareState(piece, i, buffers, out));
        different = different || !out.states[i].areEqual();
        lost = lost || (!param.states[i].isCopy && (out.missing[i][0] || out.missing[i][1]));
    }
    const uint64_t staleLeft = staleCopies(0, piece, buffers);
    out.stale = {staleLeft, m_sides[0] == m_sides[1] ? staleLeft : staleCopies(1, piece, buffers)};
    const UpdateRule rule = m_rules[0].of(param.left);
    if (different || measuresSteps || rule != m_rules[1].of(param.right))
        compareNextSteps(param, buffers, out);
    else if (rule.kind != UpdateKind::Unknown && !lost)
        out.steps = StepComparison(); // equal inputs make equal steps
    return out;
}

} // namespace shardscope
