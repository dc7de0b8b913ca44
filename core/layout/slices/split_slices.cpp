// SPDX-License-Identifier: Apache-2.0
#include "core/layout/slices/split_slices.h"

#include "core/base/text.h"
#include "core/checkpoint/model/merged_parts.h"
#include "core/layout/slices/slice_pieces.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kMaxRows = uint64_t{1} << 32; ///< of a vocabulary

/// How one parameter is split.
struct SplitParam {
    Shape shape; ///< of every slice
    std::vector<std::vector<SlicePiece>> pieces; ///< per slice: pieces of the whole
    UniversalMarks marks;
    bool alike = false;
};

SliceRun runAt(const std::vector<SlicePiece>& pieces, uint64_t element, uint64_t end)
{
    SliceRun out;
    forEachSliceRun(pieces, element, end, [&](const SliceRun& run) {
        out = run;
        return false;
    });
    return out;
}

bool haveSameLayout(
    const std::vector<SlicePiece>& one, const std::vector<SlicePiece>& other, uint64_t elements)
{
    for (uint64_t at = 0; at < elements;) {
        const SliceRun here = runAt(one, at, elements);
        const SliceRun there = runAt(other, at, elements);
        if (here.elements == 0 || there.elements == 0 || here.slice != there.slice
            || here.sliceElement != there.sliceElement)
            return false;
        at += std::min(here.elements, there.elements);
    }
    return true;
}

class SliceSplitter
{
public:
    SliceSplitter(const CheckpointPtr& merged, const SliceRules& rules, const SliceSplit& split)
        : m_whole(merged)
        , m_merged(*merged->merged)
        , m_stored(*m_merged.of)
        , m_rules(rules)
        , m_split(split)
    {
    }

    Result<CheckpointPtr> run()
    {
        bool vocabulary = false;
        for (uint32_t i = 0; i < m_whole->params.size(); ++i) {
            m_params.emplace_back();
            if (m_merged.pieces[i].empty())
                continue;
            SHARDSCOPE_TRY(const SliceRule rule, m_rules.ruleFor(m_whole->params[i].name));
            SHARDSCOPE_CHECK(checkSource(ParamId{i}, rule));
            SHARDSCOPE_CHECK(split(ParamId{i}, rule));
            vocabulary = vocabulary || rule.vocabulary;
        }
        if (m_split.vocabularyRows && !vocabulary)
            return fail(ErrorCode::Usage,
                "rows of a vocabulary are given, but no pattern in `vocabulary_parameter_patterns` names one",
                m_whole->tagFolder.string());
        SHARDSCOPE_CHECK(checkBuffers());
        auto out = emptyMerged(*m_whole);
        out->merged.reset();
        out->parallel.tp = m_split.slices;
        for (uint32_t slice = 0; slice < m_split.slices; ++slice) {
            SHARDSCOPE_TRY(auto made, part(slice));
            out->parts.push_back(std::move(made));
        }
        addModelsOfParts(*out);
        return CheckpointPtr(std::move(out));
    }

private:
    [[nodiscard]] std::string shown(ParamId id) const
    {
        return "`" + toValidUtf8(m_whole->params[index(id)].name) + "`";
    }
    [[nodiscard]] std::string slicesText() const
    {
        return std::to_string(m_split.slices) + (m_split.slices == 1 ? " slice" : " slices");
    }
    [[nodiscard]] tl::unexpected<Error> refused(ParamId id, ErrorCode code, const std::string& why) const
    {
        return fail(code, shown(id) + " cannot be split into " + slicesText() + ": " + why,
            m_whole->tagFolder.string());
    }

    /// Checks that the source's slices match the rules. Only then do the rules hold for another number of
    /// slices.
    Status checkSource(ParamId id, const SliceRule& rule) const
    {
        if (m_stored.parts.empty())
            return {};
        const Parameter& whole = m_whole->params[index(id)];
        ParamSlices slices;
        uint32_t before = 0;
        for (const CheckpointPtr& part : m_stored.parts) {
            const auto slice = part->findParam(whole.name);
            if (!slice) // mergeSlices() has found them all
                return refused(id, ErrorCode::Damaged, "a slice is missing");
            slices.ids.push_back(ParamId{before + index(*slice)});
            slices.shapes.push_back(part->params[index(*slice)].shape);
            before += static_cast<uint32_t>(part->params.size());
        }
        if (std::any_of(slices.shapes.begin(), slices.shapes.end(),
                [&](const Shape& shape) { return shape != slices.shapes.front(); }))
            return refused(id, ErrorCode::Unsupported,
                "its slices have several sizes, and it is not known how another number of them is split");
        for (const std::vector<uint64_t>& widths : rule.widths) {
            if (std::any_of(
                    widths.begin(), widths.end(), [&](uint64_t width) { return width != widths.front(); }))
                return refused(id, ErrorCode::Unsupported,
                    "its slices split a sub-parameter unevenly, and it is not known how another number of "
                    "them is split");
        }
        if (m_merged.isRuled[index(id)])
            return {};
        const auto ruled = piecesOf(rule, slices);
        if (!ruled || ruled->shape != whole.shape
            || !haveSameLayout(m_merged.pieces[index(id)], ruled->pieces, whole.elements))
            return refused(id, ErrorCode::Unsupported,
                "the recorded map of its slices has more than the recorded patterns, and it is not known "
                "where another number of slices is");
        return {};
    }

    /// Rows with padding of a vocabulary's tensor.
    Result<uint64_t> rowsOf(ParamId id) const
    {
        const Parameter& whole = m_whole->params[index(id)];
        const uint64_t padding = m_merged.marks[index(id)].paddingRows;
        const uint64_t rows = whole.shape.front();
        if (m_split.vocabularyRows && *m_split.vocabularyRows > kMaxRows)
            return fail(ErrorCode::Usage,
                std::to_string(*m_split.vocabularyRows) + " rows are more than any vocabulary has",
                m_whole->tagFolder.string());
        if (m_split.vocabularyRows && *m_split.vocabularyRows < rows)
            return fail(ErrorCode::Usage,
                std::to_string(*m_split.vocabularyRows) + " rows are fewer than the " + std::to_string(rows)
                    + " that the vocabulary of " + shown(id) + " has",
                m_whole->tagFolder.string());
        if (m_split.vocabularyRows)
            return *m_split.vocabularyRows;
        if (padding > 0)
            return fail(ErrorCode::Refused,
                shown(id) + " has " + std::to_string(padding)
                    + " rows of padding after its vocabulary; it is not known how many a run with "
                    + slicesText() + " has",
                m_whole->tagFolder.string(),
                "give all rows of that run, padding included, with --padded-vocab-size");
        return rows;
    }

    Status split(ParamId id, SliceRule rule)
    {
        const Parameter& whole = m_whole->params[index(id)];
        SplitParam& out = m_params[index(id)];
        out.shape = whole.shape;
        if (rule.vocabulary) {
            if (out.shape.empty())
                return refused(id, ErrorCode::Refused, "it has no rows");
            rule.vocabulary = out.shape.front();
            SHARDSCOPE_TRY(out.shape.front(), rowsOf(id));
        }
        out.alike = rule.merge == SliceRule::Merge::Replicated || rule.merge == SliceRule::Merge::Averaged;
        const uint32_t dimension = rule.merge == SliceRule::Merge::TwoHalves ? 0 : rule.dimension;
        if (!out.alike && dimension >= out.shape.size())
            return refused(id, ErrorCode::Refused,
                "it has no dimension " + std::to_string(dimension) + " to be split along");
        if (!out.alike && out.shape[dimension] % m_split.slices != 0)
            return refused(id, ErrorCode::Refused,
                "dimension " + std::to_string(dimension) + " of " + std::to_string(out.shape[dimension])
                    + (rule.vocabulary ? " rows, padding included," : "") + " does not divide");
        if (!out.alike)
            out.shape[dimension] /= m_split.slices;
        rule.widths.clear(); // these are the source's
        ParamSlices slices;
        for (uint32_t slice = 0; slice < m_split.slices; ++slice) {
            slices.ids.push_back(ParamId{slice});
            slices.shapes.push_back(out.shape);
        }
        auto merged = piecesOf(rule, slices);
        if (!merged)
            return refused(id, merged.error().code, "slices " + merged.error().message);
        if (merged->shape != whole.shape)
            return refused(id, ErrorCode::Refused, "the pattern gives it another shape");
        out.marks = std::move(merged->marks);
        out.pieces.resize(m_split.slices);
        for (const SlicePiece& piece : merged->pieces) { // pieces with the two sides exchanged
            const SlicePiece turned{
                id, piece.sliceFirst, piece.sliceStride, piece.first, piece.stride, piece.run, piece.count};
            for (uint32_t slice = 0; slice < m_split.slices; ++slice) {
                if (out.alike || slice == index(piece.slice))
                    out.pieces[slice].push_back(turned);
            }
        }
        return {};
    }

    /// Buffers are passed on unchanged.
    Status checkBuffers() const
    {
        for (uint32_t i = 0; i < m_whole->params.size(); ++i) {
            const Parameter& param = m_whole->params[i];
            if (param.role != ParamRole::Buffer)
                continue;
            SHARDSCOPE_TRY(const SliceRule rule, m_rules.ruleFor(param.name));
            if (rule.isNamed && rule.merge != SliceRule::Merge::Replicated)
                return fail(ErrorCode::Unsupported,
                    "a pattern splits the buffer " + shown(ParamId{i})
                        + ", but this build copies buffers whole",
                    m_whole->tagFolder.string());
        }
        return {};
    }

    [[nodiscard]] const Checkpoint& modelOf(uint32_t slice) const
    {
        return m_stored.parts.empty() ? m_stored
                                      : *m_stored.parts[slice * m_stored.parts.size() / m_split.slices];
    }

    Result<CheckpointPtr> part(uint32_t slice)
    {
        auto out = emptyMerged(*m_whole);
        const Checkpoint& model = modelOf(slice);
        out->parallel.tp = m_split.slices;
        out->place = {0, slice, 0};
        out->modelRank = slice;
        out->templateModel = model.templateModel;
        out->modelFiles = {model.templateModel};
        auto pieces = std::make_shared<MergedSlices>();
        pieces->of = m_whole;
        pieces->split = SplitSlice{slice, m_split.slices, m_split.vocabularyRows, m_split.asRecorded};
        for (uint32_t i = 0; i < m_whole->params.size(); ++i)
            addParam(ParamId{i}, slice, model, *out, *pieces);
        for (Parameter& alias : out->params) {
            if (alias.sharedWith != kNoParam) {
                alias.shape = out->params[index(alias.sharedWith)].shape;
                alias.elements = out->params[index(alias.sharedWith)].elements;
            }
        }
        out->merged = std::move(pieces);
        std::vector<std::vector<ParamId>> order;
        for (const ParamGroup& group : m_whole->groups) {
            order.emplace_back();
            for (const UnitId id : group.units) {
                const std::vector<ParamId>& params = m_whole->units[index(id)].params;
                order.back().insert(order.back().end(), params.begin(), params.end());
            }
        }
        SHARDSCOPE_CHECK(addMergedUnits(*m_whole, order, *out));
        return CheckpointPtr(std::move(out));
    }

    void addParam(
        ParamId id, uint32_t slice, const Checkpoint& model, Checkpoint& out, MergedSlices& pieces) const
    {
        Parameter param = m_whole->params[index(id)];
        const SplitParam& made = m_params[index(id)];
        param.unit = kNoUnit;
        pieces.pieces.emplace_back();
        pieces.marks.push_back(made.marks);
        pieces.alike.emplace_back();
        pieces.unnamed.emplace_back();
        pieces.isRuled.push_back(true);
        if (!m_merged.pieces[index(id)].empty()) {
            param.shape = made.shape;
            param.elements = elementCount(param.shape).value_or(0);
            pieces.pieces.back() = made.pieces[slice];
            if (made.alike)
                pieces.alike.back().push_back(id);
        }
        const auto own = param.role == ParamRole::Buffer ? model.findParam(param.name) : std::nullopt;
        if (const WholeTensor* buffer = own ? model.wholeOf(*own) : nullptr) {
            WholeTensor copy = *buffer;
            copy.param = id;
            out.whole.push_back(std::move(copy));
        }
        out.paramByName.emplace(param.name, id);
        out.params.push_back(std::move(param));
    }

    CheckpointPtr m_whole;
    const MergedSlices& m_merged;
    const Checkpoint& m_stored;
    const SliceRules& m_rules;
    const SliceSplit& m_split;
    std::vector<SplitParam> m_params;
};

} // namespace

bool isSharded(CheckpointKind kind)
{
    return hasRankFiles(kind);
}

Result<std::optional<SliceRules>> recordedRules(const Checkpoint& checkpoint)
{
    if (!checkpoint.isReadable(checkpoint.templateModel))
        return std::optional<SliceRules>();
    const CheckpointFile& model = checkpoint.file(checkpoint.templateModel);
    const PickleGraph& graph = model.content->pickle();
    return SliceRules::recorded(
        graph, lookup(graph, graph.root(), "universal_checkpoint_info"), model.path.string());
}

Result<CheckpointPtr> splitSlices(
    const CheckpointPtr& merged, const SliceRules& rules, const SliceSplit& split)
{
    return SliceSplitter(merged, rules, split).run();
}

} // namespace shardscope
