// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_values.h"

#include "core/layout/present_elements.h"
#include "core/torchfile/skeleton/skeleton_files.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

/// Reads at most one chunk, of elements by their stored numbers; an empty list when nothing of it can be
/// read. Elements on lost ranks have no meaning: the map has no cells with values there.
QList<std::optional<double>> readChunk(
    const Checkpoint& checkpoint, const UnitState& state, ParamId param, uint64_t begin, uint64_t end)
{
    const uint32_t size = itemSize(state.dtype);
    std::vector<uint8_t> bytes((end - begin) * size);
    std::vector<bool> known(end - begin);
    const auto read = [&](uint64_t from, uint64_t to, uint64_t at) {
        const auto missing = readPresentElements(realFilesAndSkeletons(), checkpoint,
            {param, state.name, from, to}, std::span(bytes).subspan(at * size, (to - from) * size));
        if (!missing)
            return;
        std::fill_n(known.begin() + static_cast<std::ptrdiff_t>(at), to - from, true);
        for (const auto& [first, last] : *missing)
            std::fill_n(known.begin() + static_cast<std::ptrdiff_t>(at + first - from), last - first, false);
    };
    const auto order = checkpoint.transposedOrder(param);
    if (!order)
        read(begin, end, 0);
    for (uint64_t stored = begin; order && stored < end; ++stored) {
        const uint64_t element = order->elementOf(stored);
        read(element, element + 1, stored - begin);
    }
    QList<std::optional<double>> values;
    for (uint64_t i = 0; i < end - begin; ++i)
        values.push_back(
            known[i] ? std::optional(elementAsDouble(state.dtype, bytes.data() + i * size)) : std::nullopt);
    return values;
}

} // namespace

MapValues::MapValues(QObject* parent)
    : QObject(parent)
{
    m_pool.setMaxThreadCount(1);
    m_pool.setObjectName(QStringLiteral("mapValueReader"));
}

MapValues::~MapValues()
{
    m_pool.clear();
    m_pool.waitForDone();
}

void MapValues::setStack(MapStackPtr stack)
{
    m_pool.clear();
    m_stack = std::move(stack);
    m_chunks.clear();
    m_pending.clear();
    ++m_generation;
}

double MapValues::valueOf(ParamId param, uint64_t element, bool* known)
{
    *known = false;
    if (!m_stack) {
        return 0;
    }
    const Chunk key{index(param), element / kChunkElements};
    const auto found = m_chunks.constFind(key);
    if (found == m_chunks.constEnd()) {
        if (!m_pending.contains(key)) {
            read(param, key);
        }
        return 0;
    }
    const auto position = static_cast<qsizetype>(element % kChunkElements);
    const std::optional<double> value = position < found->size() ? found->at(position) : std::nullopt;
    *known = value.has_value();
    return value.value_or(0);
}

void MapValues::read(ParamId param, const Chunk& key)
{
    const Parameter& info = m_stack->checkpoint().params[index(param)];
    const auto section = m_stack->sectionOf(param);
    if (!section) {
        return;
    }
    const MapQuery& part = m_stack->source(*section).parts()[*m_stack->source(*section).partOf(param)];
    const UnitState& state = part.flat().states[part.stateIndex()]; // lives as long as the stack
    if (state.dtype == DType::Unknown) {
        return;
    }
    const uint64_t elements = info.elements;
    const uint64_t begin = key.second * kChunkElements;
    const uint64_t end = std::min(begin + kChunkElements, elements);
    m_pending.insert(key);
    m_pool.start([this, stack = m_stack, &state, generation = m_generation, param, begin, end, key] {
        auto values = readChunk(stack->checkpoint(), state, param, begin, end);
        QMetaObject::invokeMethod(
            this,
            [this, generation, key, values = std::move(values)] {
                if (generation != m_generation) {
                    return;
                }
                if (m_chunks.size() >= kMaxChunks) {
                    m_chunks.clear();
                }
                m_pending.remove(key);
                m_chunks.insert(key, values);
                Q_EMIT arrived();
            },
            Qt::QueuedConnection);
    });
}

} // namespace shardscope::ui
