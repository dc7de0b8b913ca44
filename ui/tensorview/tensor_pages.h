// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "ui/tensorview/element_places.h"

#include <QHash>
#include <QObject>
#include <QSet>
#include <QThreadPool>

#include <memory>
#include <vector>

namespace shardscope::ui {

/// Bytes of a tensor's elements, read in pages of 16 KiB on worker threads when views request them, so that
/// no tensor is loaded whole. Keeps at most 2,048 pages: more than a view has scattered cells.
/// Lives on the GUI thread.
class TensorPages : public QObject
{
    Q_OBJECT
public:
    static constexpr uint64_t kPageBytes = uint64_t{16} << 10;
    static constexpr qsizetype kMaxPages = 2048;

    explicit TensorPages(io::FileSystem& files, QObject* parent = nullptr);
    ~TensorPages() override;

    /// Clears everything; running reads are dropped. Null: nothing to read.
    void setSource(TensorSourcePtr source);
    [[nodiscard]] const TensorSourcePtr& source() const { return m_source; }
    /// Of the same tensor; null if there is none.
    [[nodiscard]] const ElementPlacesPtr& places() const { return m_places; }

    enum class Known { NotYet, Missing, Here };
    /// One element's little-endian bytes, valid until the next call. NotYet starts its read.
    [[nodiscard]] Known element(uint64_t element, const uint8_t** bytes);
    [[nodiscard]] bool isReading() const { return !m_pending.isEmpty(); }

Q_SIGNALS:
    void arrived();

private:
    struct Page {
        std::vector<uint8_t> bytes; ///< empty: unreadable
        std::vector<std::pair<uint64_t, uint64_t>> missing; ///< element ranges
        uint64_t used = 0; ///< when last requested
    };
    void read(uint64_t page);
    void keep(uint64_t number, Page page);

    io::FileSystem& m_files;
    TensorSourcePtr m_source;
    ElementPlacesPtr m_places;
    QHash<quint64, std::shared_ptr<Page>> m_pages;
    QSet<quint64> m_pending;
    uint64_t m_pageElements = 1;
    uint64_t m_clock = 0;
    uint64_t m_generation = 0;
    QThreadPool m_pool;
};

} // namespace shardscope::ui
