// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/layout/slices/merged_slices.h"
#include "core/layout/slices/slice_pieces.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardscope {

namespace {

constexpr size_t kMaxPieces = 1024; ///< of one parameter
constexpr size_t kMaxNamed = 20;

std::optional<std::vector<uint64_t>> numbersOf(const PickleGraph& graph, NodeId node)
{
    std::vector<uint64_t> out;
    for (const NodeId item : sequenceItems(graph, node)) {
        const auto number = asInteger(graph, item);
        if (!number || *number < 0)
            return std::nullopt;
        out.push_back(static_cast<uint64_t>(*number));
    }
    return out;
}

/// An offset and one stride per dimension: [12, [48, 1]].
struct Affine {
    uint64_t offset = 0;
    std::vector<uint64_t> strides;
};

std::optional<Affine> affineOf(const PickleGraph& graph, NodeId node)
{
    const auto items = sequenceItems(graph, node);
    const auto offset = items.size() == 2 ? asInteger(graph, items[0]) : std::nullopt;
    auto strides = offset && *offset >= 0 ? numbersOf(graph, items[1]) : std::nullopt;
    if (!strides)
        return std::nullopt;
    return Affine{static_cast<uint64_t>(*offset), std::move(*strides)};
}

/// Converts one recorded piece to runs. The last dimensions that are contiguous on both sides form one run.
/// The dimension before them counts the runs. All dimensions before that are enumerated.
bool addRuns(ParamId slice, const std::vector<uint64_t>& shape, const Affine& whole, const Affine& part,
    std::vector<SlicePiece>& out)
{
    if (whole.strides.size() != shape.size() || part.strides.size() != shape.size())
        return false;
    size_t outer = shape.size();
    uint64_t run = 1;
    while (outer > 0 && whole.strides[outer - 1] == run && part.strides[outer - 1] == run) {
        const auto longer = checkedMultiply(run, shape[outer - 1]);
        if (!longer)
            return false;
        run = *longer;
        --outer;
    }
    SlicePiece piece{slice, whole.offset, run, part.offset, run, run, 1};
    if (outer > 0) {
        --outer;
        piece.count = shape[outer];
        piece.stride = whole.strides[outer];
        piece.sliceStride = part.strides[outer];
    }
    if (run == 0 || piece.count == 0)
        return true;
    std::vector<uint64_t> at(outer, 0);
    for (;;) {
        SlicePiece next = piece;
        for (size_t i = 0; i < outer; ++i) {
            next.first += at[i] * whole.strides[i];
            next.sliceFirst += at[i] * part.strides[i];
        }
        if (out.size() >= kMaxPieces)
            return false;
        out.push_back(next);
        size_t dimension = outer;
        while (dimension > 0 && ++at[dimension - 1] == shape[dimension - 1])
            at[--dimension] = 0;
        if (dimension == 0)
            return true;
    }
}

/// Merges the slices of one checkpoint.
class SliceMerger
{
public:
    SliceMerger(const CheckpointPtr& of, const SliceRules* rules)
        : m_of(of)
        , m_slices(of->parts.empty() ? std::vector{of} : of->parts)
        , m_rules(rules)
        , m_graph(of->file(of->templateModel).content->pickle())
        , m_fused(FusedExperts::of(*of))
    {
    }

    Result<CheckpointPtr> run()
    {
        SHARDSCOPE_CHECK(readRecord());
        auto out = emptyMerged(*m_of);
        auto merged = std::make_shared<MergedSlices>();
        merged->of = m_of;
        m_merged = merged.get();
        m_out = out.get();
        SHARDSCOPE_CHECK(addParams());
        SHARDSCOPE_CHECK(addUnits());
        out->merged = std::move(merged);
        return CheckpointPtr(std::move(out));
    }

private:
    [[nodiscard]] const Checkpoint& first() const { return *m_slices.front(); }
    [[nodiscard]] ParamId inWhole(size_t part, ParamId param) const
    {
        uint32_t before = 0;
        for (size_t i = 0; i < part; ++i)
            before += static_cast<uint32_t>(m_slices[i]->params.size());
        return ParamId{before + index(param)};
    }

    Status readRecord()
    {
        if (m_rules != nullptr)
            return {};
        const NodeId info = lookup(m_graph, m_graph.root(), "universal_checkpoint_info");
        const auto items
            = mappingItems(m_graph, lookup(m_graph, lookup(m_graph, info, "affine_map"), "params"));
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto pattern = asString(m_graph, items[i]);
            if (auto name = pattern ? nameOfPattern(*pattern) : std::nullopt)
                m_map.emplace(std::move(*name), items[i + 1]);
        }
        if (!m_map.empty())
            return {}; // the map is complete and more precise than patterns
        SHARDSCOPE_TRY(
            m_recorded, SliceRules::recorded(m_graph, info, m_of->file(m_of->templateModel).path.string()));
        m_rules = m_recorded ? &*m_recorded : nullptr;
        return {};
    }

    Status addParams()
    {
        for (uint32_t i = 0; i < first().params.size(); ++i) {
            Parameter param = first().params[i];
            param.unit = kNoUnit;
            const ParamId id{i};
            makeRoom();
            if (isExpert(param.name))
                takeExpert(0, id);
            else if (param.role == ParamRole::Trainable && param.sharedWith == kNoParam)
                SHARDSCOPE_CHECK(merge(param));
            else if (param.role == ParamRole::Frozen && param.sharedWith == kNoParam)
                return fail(ErrorCode::Unsupported,
                    "`" + toValidUtf8(param.name)
                        + "` is frozen, and this build does not merge or split slices of frozen parameters",
                    m_of->tagFolder.string());
            if (const WholeTensor* whole = first().wholeOf(id);
                whole != nullptr && param.role == ParamRole::Buffer)
                m_out->whole.push_back(*whole);
            m_out->paramByName.emplace(param.name, id);
            m_out->params.push_back(std::move(param));
        }
        if (!m_missing.empty())
            return missingRules();
        addOtherExperts();
        for (Parameter& alias : m_out->params) { // an alias has its owner's shape
            if (alias.sharedWith != kNoParam) {
                alias.shape = m_out->params[index(alias.sharedWith)].shape;
                alias.elements = m_out->params[index(alias.sharedWith)].elements;
            }
        }
        return {};
    }

    void makeRoom()
    {
        m_merged->pieces.emplace_back();
        m_merged->marks.emplace_back();
        m_merged->alike.emplace_back();
        m_merged->unnamed.emplace_back();
        m_merged->isRuled.push_back(false);
    }

    /// AutoEP's experts, folded over the slices: each expert is whole, in one slice.
    [[nodiscard]] bool isExpert(std::string_view name) const
    {
        return !m_fused.fusedNameOf(name).empty() || m_fused.withoutRank(name).size() != name.size();
    }
    void takeExpert(size_t tp, ParamId id)
    {
        const uint64_t elements = m_slices[tp]->params[index(id)].elements;
        m_merged->pieces.back() = {SlicePiece{inWhole(tp, id), 0, elements, 0, elements, elements, 1}};
    }
    /// Adds the experts of the other slices, in the order of the slices.
    void addOtherExperts()
    {
        for (size_t tp = 1; tp < m_slices.size(); ++tp) {
            for (uint32_t i = 0; i < m_slices[tp]->params.size(); ++i) {
                const Parameter& param = m_slices[tp]->params[i];
                if (!isExpert(param.name) || m_out->paramByName.contains(param.name))
                    continue;
                makeRoom();
                takeExpert(tp, ParamId{i});
                m_out->paramByName.emplace(param.name, ParamId{static_cast<uint32_t>(m_out->params.size())});
                m_out->params.push_back(param);
                m_out->params.back().unit = kNoUnit;
            }
        }
    }

    [[nodiscard]] tl::unexpected<Error> missingRules() const
    {
        std::string names;
        for (size_t i = 0; i < m_missing.size() && i < kMaxNamed; ++i)
            names += (i == 0 ? "`" : ", `") + toValidUtf8(m_missing[i]) + "`";
        if (m_missing.size() > kMaxNamed)
            names += " and " + std::to_string(m_missing.size() - kMaxNamed) + " more";
        return fail(ErrorCode::Unsupported,
            (m_of->parts.empty()
                    ? "the checkpoint does not record how these parameters are split into slices: "
                    : "the checkpoint does not record how the slices of these parameters are merged: ")
                + names,
            m_of->tagFolder.string(),
            "give a file of patterns with --patterns; runs with AutoTP record it since DeepSpeed 0.18.9");
    }

    Status merge(Parameter& param)
    {
        const auto entry = m_map.find(param.name);
        if (entry != m_map.end())
            return mergeByMap(param, entry->second);
        if (m_rules != nullptr)
            return mergeByRules(param);
        m_missing.push_back(param.name);
        return {};
    }

    Status mergeByRules(Parameter& param)
    {
        SHARDSCOPE_TRY(const SliceRule rule, m_rules->ruleFor(param.name));
        const std::string shown = "the slices of `" + toValidUtf8(param.name) + "` ";
        ParamSlices slices;
        for (size_t tp = 0; tp < m_slices.size(); ++tp) {
            const auto slice = m_slices[tp]->findParam(param.name);
            if (!slice)
                return fail(ErrorCode::Damaged,
                    shown + "are incomplete: number " + std::to_string(tp) + " is missing",
                    m_of->tagFolder.string());
            slices.ids.push_back(inWhole(tp, *slice));
            slices.shapes.push_back(m_slices[tp]->params[index(*slice)].shape);
        }
        auto made = piecesOf(rule, slices);
        if (!made)
            return fail(made.error().code, shown + made.error().message, m_of->tagFolder.string());
        param.shape = std::move(made->shape);
        param.elements = elementCount(param.shape).value_or(0);
        if (!covers(made->pieces, param.elements))
            return fail(
                ErrorCode::Refused, shown + "cannot be merged as the pattern says", m_of->tagFolder.string());
        m_merged->isRuled.back() = true;
        m_merged->pieces.back() = std::move(made->pieces);
        m_merged->marks.back() = std::move(made->marks);
        if (made->alike)
            m_merged->alike.back() = slices.ids;
        else if (!rule.isNamed)
            m_merged->unnamed.back() = slices.ids;
        return {};
    }

    Status mergeByMap(Parameter& param, NodeId entry)
    {
        std::vector<SlicePiece>& pieces = m_merged->pieces.back();
        const std::string shown = "`" + toValidUtf8(param.name) + "`";
        const auto damaged = [&](const std::string& what) {
            return fail(ErrorCode::Damaged, "what is recorded of the slices of " + shown + " " + what,
                m_of->file(m_of->templateModel).path.string());
        };
        auto shape = numbersOf(m_graph, lookup(m_graph, entry, "logical_shape"));
        const auto elements = shape ? elementCount(*shape) : std::nullopt;
        if (!elements)
            return damaged("has no shape");
        std::set<std::pair<uint64_t, uint64_t>> seen; // replicated pieces are equal on every rank
        const NodeId ranks = lookup(m_graph, entry, "ranks");
        for (size_t tp = 0; tp < m_slices.size(); ++tp) {
            const auto slice = m_slices[tp]->findParam(param.name);
            const NodeId rank = lookup(m_graph, ranks, static_cast<int64_t>(tp));
            if (!slice
                || numbersOf(m_graph, lookup(m_graph, rank, "shard_shape"))
                    != m_slices[tp]->params[index(*slice)].shape)
                return damaged("does not fit the shape of slice " + std::to_string(tp));
            bool repeats = m_slices[tp]->params[index(*slice)].shape == *shape;
            for (const NodeId piece : sequenceItems(m_graph, lookup(m_graph, rank, "pieces"))) {
                const auto sizes = numbersOf(m_graph, lookup(m_graph, piece, "shape"));
                const auto whole = affineOf(m_graph, lookup(m_graph, piece, "source"));
                const auto part = affineOf(m_graph, lookup(m_graph, piece, "dest"));
                if (!sizes || !whole || !part)
                    return damaged("has a piece without a recorded position");
                if (const auto scale = asNumber(m_graph, lookup(m_graph, piece, "scale"));
                    scale && *scale != 1)
                    return fail(ErrorCode::Unsupported,
                        "the slices of " + shown + " hold it times " + std::to_string(*scale)
                            + ", and this build does not rescale an optimizer's states",
                        m_of->file(m_of->templateModel).path.string());
                std::vector<SlicePiece> made;
                if (!addRuns(inWhole(tp, *slice), *sizes, *whole, *part, made))
                    return damaged("has a piece that cannot be interpreted");
                for (const SlicePiece& next : made) {
                    if (!seen.insert({next.first, next.run}).second)
                        continue;
                    pieces.push_back(next);
                    repeats = repeats && tp == 0;
                }
            }
            if (repeats)
                m_merged->alike.back().push_back(inWhole(tp, *slice));
        }
        if (!covers(pieces, *elements))
            return damaged("omits elements, or has some of them twice");
        param.shape = std::move(*shape);
        param.elements = *elements;
        return {};
    }

    /// Whether all runs of a piece end at or before `end`.
    static bool reaches(uint64_t first, uint64_t stride, const SlicePiece& piece, uint64_t end)
    {
        const auto last = checkedMultiply(piece.count - 1, stride);
        const auto begin = last ? checkedAdd(first, *last) : std::nullopt;
        const auto reached = begin ? checkedAdd(*begin, piece.run) : std::nullopt;
        return reached && *reached <= end;
    }

    /// Whether the pieces cover every element exactly once, and stay inside their slices.
    [[nodiscard]] bool covers(const std::vector<SlicePiece>& pieces, uint64_t elements) const
    {
        uint64_t total = 0;
        for (const SlicePiece& piece : pieces) {
            const auto runs = checkedMultiply(piece.run, piece.count);
            const auto sum = runs ? checkedAdd(total, *runs) : std::nullopt;
            if (!sum || (piece.count > 1 && piece.stride < piece.run)
                || !reaches(piece.first, piece.stride, piece, elements)
                || !reaches(
                    piece.sliceFirst, piece.sliceStride, piece, m_of->params[index(piece.slice)].elements))
                return false;
            total = *sum;
        }
        if (total != elements)
            return false;
        uint64_t met = 0;
        uint64_t expected = 0;
        bool inOrder = true;
        forEachSliceRun(pieces, 0, elements, [&](const SliceRun& run) {
            inOrder = inOrder && run.element == expected;
            expected = run.element + run.elements;
            met += run.elements;
            return inOrder;
        });
        return inOrder && met == elements;
    }

    Status addUnits()
    {
        std::vector<std::vector<ParamId>> order;
        for (const ParamGroup& group : first().groups) {
            order.emplace_back();
            for (const UnitId id : group.units) {
                const std::vector<ParamId>& params = first().units[index(id)].params;
                order.back().insert(order.back().end(), params.begin(), params.end());
            }
        }
        for (auto i = static_cast<uint32_t>(first().params.size()); i < m_out->params.size(); ++i)
            order[static_cast<size_t>(m_out->params[i].group)].push_back(ParamId{i});
        return addMergedUnits(*m_of, order, *m_out);
    }

    CheckpointPtr m_of;
    std::vector<CheckpointPtr> m_slices;
    const SliceRules* m_rules;
    std::optional<SliceRules> m_recorded;
    const PickleGraph& m_graph;
    FusedExperts m_fused;
    std::vector<std::string> m_missing; ///< parameters without a rule for merging
    std::map<std::string, NodeId, std::less<>> m_map; ///< name → the record of its slices
    MergedSlices* m_merged = nullptr;
    Checkpoint* m_out = nullptr;
};

} // namespace

Result<CheckpointPtr> mergeSlices(const CheckpointPtr& of, const SliceRules* rules)
{
    if (of->parallel.pp > 1)
        return fail(ErrorCode::Unsupported, "this build does not merge tensor slices of pipeline stages",
            of->tagFolder.string());
    SHARDSCOPE_TRY(CheckpointPtr merged, SliceMerger(of, rules).run());
    return merged;
}

} // namespace shardscope
