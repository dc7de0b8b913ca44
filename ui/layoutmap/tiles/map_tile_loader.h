// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/tiles/map_tile_renderer.h"

#include <QObject>
#include <QThreadPool>

#include <deque>
#include <mutex>

namespace shardscope::ui {

/// Renders tiles on worker threads. Only tiles of the newest call of want() are started; older requests are
/// dropped.
///
/// Lives on the GUI thread; tileReady arrives there.
class MapTileLoader : public QObject
{
    Q_OBJECT
public:
    struct Order {
        MapTileKey key;
        MapStackRequest request;
    };

    explicit MapTileLoader(QObject* parent = nullptr);
    ~MapTileLoader() override;

    /// Replaces the list of tiles to render, most urgent first.
    void want(std::vector<Order> orders);
    /// Drops all requests and returns once no worker is busy.
    void stop();

Q_SIGNALS:
    void tileReady(const MapTileKey& key, const QImage& tile);

private:
    void work();

    QThreadPool m_pool;
    std::mutex m_mutex;
    std::deque<Order> m_orders; ///< guarded by m_mutex
    std::vector<MapTileKey> m_begun; ///< guarded by m_mutex
    int m_workers = 0; ///< guarded by m_mutex
};

} // namespace shardscope::ui
