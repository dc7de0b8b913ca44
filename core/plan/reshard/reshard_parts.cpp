// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard/reshard_parts.h"

#include <utility>

namespace shardscope {

namespace {

/// The segments of a part's record, numbered as in the lists of all parts.
class NumberedCursor final : public SegmentCursor
{
public:
    NumberedCursor(std::unique_ptr<SegmentCursor> cursor,
        std::shared_ptr<const std::vector<uint32_t>> sources, uint32_t firstTensor)
        : m_cursor(std::move(cursor))
        , m_sources(std::move(sources))
        , m_firstTensor(firstTensor)
    {
    }

    bool next(Segment& segment) override
    {
        if (!m_cursor->next(segment))
            return false;
        if (segment.source != Segment::kZero)
            segment.source = (*m_sources)[segment.source];
        if (segment.tensor != Segment::kNoTensor)
            segment.tensor += m_firstTensor;
        return true;
    }

private:
    std::unique_ptr<SegmentCursor> m_cursor;
    std::shared_ptr<const std::vector<uint32_t>> m_sources;
    uint32_t m_firstTensor;
};

} // namespace

ReshardParts::ReshardParts(CheckpointPtr whole, std::vector<std::shared_ptr<const ReshardContext>> contexts)
    : m_whole(std::move(whole))
    , m_contexts(std::move(contexts))
{
    uint32_t firstParam = 0;
    for (const auto& context : m_contexts) {
        add(*context, firstParam);
        firstParam += static_cast<uint32_t>(context->source->params.size());
    }
}

void ReshardParts::add(const ReshardContext& context, uint32_t firstParam)
{
    m_firstTensor.push_back(static_cast<uint32_t>(m_tensors.size()));
    const bool first = m_sourceNumbers.empty(); // keeps its own numbers
    std::vector<uint32_t> numbers;
    for (const PlanSource& source : context.sources) {
        const auto [known, isNew]
            = m_sourceOf.try_emplace(source.path.native(), static_cast<uint32_t>(m_sources.size()));
        numbers.push_back(isNew || first ? static_cast<uint32_t>(m_sources.size()) : known->second);
        if (isNew || first)
            m_sources.push_back(source);
    }
    m_sourceNumbers.push_back(std::make_shared<const std::vector<uint32_t>>(std::move(numbers)));
    std::vector<PlanTensor> tensors = context.tensors;
    // Parts may have parameters of one name; the whole distinguishes them.
    const auto nameIn = [&](uint32_t param) { return m_whole->params[firstParam + param].name; };
    for (uint32_t i = 0; i < context.planOfTable.size(); ++i) {
        if (context.planOfTable[i] != Segment::kNoTensor)
            tensors[context.planOfTable[i]].name = nameIn(index(context.table->entry(i).param));
    }
    for (uint32_t i = 0; i < context.newWeights.size(); ++i) {
        if (context.newWeights[i] != Segment::kNoTensor)
            tensors[context.newWeights[i]].name = nameIn(i);
    }
    m_tensors.insert(
        m_tensors.end(), std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end()));
}

OutputFile ReshardParts::numbered(size_t part, OutputFile recipe) const
{
    if (part == 0)
        return recipe; // its numbers are those of the lists
    const uint32_t firstTensor = m_firstTensor[part];
    const auto& sources = m_sourceNumbers[part];
    if (recipe.copyOf)
        recipe.copyOf = (*sources)[*recipe.copyOf];
    for (OutputRecord& record : recipe.records) {
        if (record.cursor)
            record.cursor = [inner = std::move(record.cursor), sources, firstTensor] {
                return std::make_unique<NumberedCursor>(inner(), sources, firstTensor);
            };
    }
    return recipe;
}

std::vector<FlatUnit> ReshardParts::targetUnits() const
{
    std::vector<FlatUnit> out;
    uint32_t firstParam = 0;
    for (uint32_t part = 0; part < m_contexts.size(); ++part) {
        for (const auto& unit : m_contexts[part]->target.units) {
            out.push_back(*unit);
            out.back().part = part;
            for (ParamId& param : out.back().params)
                param = ParamId{index(param) + firstParam};
        }
        firstParam += static_cast<uint32_t>(m_contexts[part]->source->params.size());
    }
    return out;
}

std::vector<Digest> ReshardParts::inOrderOfSource(std::span<const Digest> digests) const
{
    // The whole's table has what is in units, part by part, then what is stored whole, part by part.
    std::vector<Digest> inUnits;
    std::vector<Digest> whole;
    for (size_t part = 0; part < m_contexts.size(); ++part) {
        const ReshardContext& context = *m_contexts[part];
        for (uint32_t i = 0; i < context.planOfTable.size(); ++i) {
            const uint32_t at = context.planOfTable[i];
            std::vector<Digest>& out = i < context.table->indexOfWhole(0) ? inUnits : whole;
            out.push_back(at == Segment::kNoTensor ? Digest{} : digests[m_firstTensor[part] + at]);
        }
    }
    inUnits.insert(inUnits.end(), whole.begin(), whole.end());
    return inUnits;
}

} // namespace shardscope
