// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/tensor_pages.h"

#include "core/layout/present_elements.h"

#include <algorithm>

namespace shardscope::ui {

TensorPages::TensorPages(io::FileSystem& files, QObject* parent)
    : QObject(parent)
    , m_files(files)
{
    m_pool.setMaxThreadCount(2);
    m_pool.setObjectName(QStringLiteral("tensorPageReader"));
}

TensorPages::~TensorPages()
{
    m_pool.clear();
    m_pool.waitForDone();
}

void TensorPages::setSource(TensorSourcePtr source)
{
    m_pool.clear();
    m_pages.clear();
    m_pending.clear();
    ++m_generation;
    m_source = std::move(source);
    m_places = m_source ? std::make_shared<const ElementPlaces>(m_source) : nullptr;
    m_pageElements = m_source ? std::max<uint64_t>(kPageBytes / m_source->itemBytes(), 1) : 1;
}

TensorPages::Known TensorPages::element(uint64_t element, const uint8_t** bytes)
{
    if (!m_source || element >= m_source->elements)
        return Known::Missing;
    const uint64_t number = element / m_pageElements;
    const auto found = m_pages.constFind(number);
    if (found == m_pages.constEnd()) {
        if (!m_pending.contains(number))
            read(number);
        return Known::NotYet;
    }
    Page& page = **found;
    page.used = ++m_clock;
    const bool isMissing = page.bytes.empty()
        || std::any_of(page.missing.begin(), page.missing.end(),
            [&](const auto& gap) { return element >= gap.first && element < gap.second; });
    if (isMissing)
        return Known::Missing;
    *bytes = page.bytes.data() + (element % m_pageElements) * m_source->itemBytes();
    return Known::Here;
}

void TensorPages::read(uint64_t number)
{
    if (m_pending.size() >= kMaxPages) { // drop requests that were scrolled past
        m_pool.clear();
        m_pending.clear();
    }
    m_pending.insert(number);
    const uint64_t begin = number * m_pageElements;
    const uint64_t end = std::min(begin + m_pageElements, m_source->elements);
    m_pool.start([this, &files = m_files, source = m_source, generation = m_generation, number, begin, end] {
        auto page = std::make_shared<Page>();
        page->bytes.resize((end - begin) * source->itemBytes());
        auto missing = readPresentElements(
            files, *source->checkpoint, {source->param, source->state, begin, end}, page->bytes);
        if (missing)
            page->missing = std::move(*missing);
        else
            page->bytes.clear();
        QMetaObject::invokeMethod(
            this,
            [this, generation, number, page] {
                if (generation == m_generation)
                    keep(number, std::move(*page));
            },
            Qt::QueuedConnection);
    });
}

void TensorPages::keep(uint64_t number, Page page)
{
    m_pending.remove(number);
    if (m_pages.size() >= kMaxPages) {
        auto oldest = m_pages.begin();
        for (auto at = m_pages.begin(); at != m_pages.end(); ++at) {
            if ((*at)->used < (*oldest)->used)
                oldest = at;
        }
        m_pages.erase(oldest);
    }
    page.used = ++m_clock;
    m_pages.insert(number, std::make_shared<Page>(std::move(page)));
    Q_EMIT arrived();
}

} // namespace shardscope::ui
