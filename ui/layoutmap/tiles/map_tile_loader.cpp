// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/tiles/map_tile_loader.h"

#include <QThread>

#include <algorithm>

namespace shardscope::ui {

MapTileLoader::MapTileLoader(QObject* parent)
    : QObject(parent)
{
    // One processor stays free for the thread that paints.
    m_pool.setMaxThreadCount(std::clamp(QThread::idealThreadCount() - 1, 1, 8));
    m_pool.setObjectName(QStringLiteral("mapTileWorkers"));
}

MapTileLoader::~MapTileLoader()
{
    stop();
}

void MapTileLoader::want(std::vector<Order> orders)
{
    int starting = 0;
    {
        const std::scoped_lock lock(m_mutex);
        m_orders.clear();
        for (auto& order : orders) {
            if (std::find(m_begun.begin(), m_begun.end(), order.key) == m_begun.end()) {
                m_orders.push_back(std::move(order));
            }
        }
        starting = std::min(m_pool.maxThreadCount() - m_workers, static_cast<int>(m_orders.size()));
        m_workers += std::max(starting, 0);
    }
    for (int i = 0; i < starting; ++i) {
        m_pool.start([this] { work(); });
    }
}

void MapTileLoader::stop()
{
    {
        const std::scoped_lock lock(m_mutex);
        m_orders.clear();
    }
    m_pool.waitForDone();
}

void MapTileLoader::work()
{
    while (true) {
        Order order;
        {
            const std::scoped_lock lock(m_mutex);
            if (m_orders.empty()) {
                --m_workers;
                return;
            }
            order = std::move(m_orders.front());
            m_orders.pop_front();
            m_begun.push_back(order.key);
        }
        QImage tile = renderMap(order.request);
        QMetaObject::invokeMethod(
            this,
            [this, key = order.key, tile = std::move(tile)] {
                {
                    const std::scoped_lock lock(m_mutex);
                    std::erase(m_begun, key);
                }
                Q_EMIT tileReady(key, tile);
            },
            Qt::QueuedConnection);
    }
}

} // namespace shardscope::ui
