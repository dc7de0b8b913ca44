// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"

#include <QHash>
#include <QObject>
#include <QPair>
#include <QSet>
#include <QThreadPool>

namespace shardscope::ui {

/// Values of single elements, read in small chunks on a worker thread when the zoom is high enough to show
/// them.
///
/// Lives on the GUI thread. Chunks that could not be read stay empty and are not requested again.
class MapValues : public QObject
{
    Q_OBJECT
public:
    static constexpr uint64_t kChunkElements = 128;

    explicit MapValues(QObject* parent = nullptr);
    ~MapValues() override;

    /// Clears everything; running reads are dropped.
    void setStack(MapStackPtr stack);
    /// The element's value once `known`, by its stored number (Checkpoint::transposedOrder); requesting one
    /// that is not starts its read.
    [[nodiscard]] double valueOf(ParamId param, uint64_t element, bool* known);
    [[nodiscard]] bool isReading() const { return !m_pending.isEmpty(); }

Q_SIGNALS:
    void arrived();

private:
    using Chunk = QPair<quint32, quint64>; ///< parameter, chunk number
    static constexpr qsizetype kMaxChunks = 4096;

    void read(ParamId param, const Chunk& key);

    MapStackPtr m_stack;
    QHash<Chunk, QList<std::optional<double>>> m_chunks; ///< an element that cannot be read: nothing
    QSet<Chunk> m_pending;
    uint64_t m_generation = 0;
    QThreadPool m_pool;
};

} // namespace shardscope::ui
