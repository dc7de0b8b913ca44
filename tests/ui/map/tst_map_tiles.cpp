// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "ui/layoutmap/tiles/map_tile_cache.h"
#include "ui/layoutmap/tiles/map_tile_loader.h"

#include <QHash>
#include <QTest>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace shardscope;
using namespace shardscope::ui;

/// Tiles: kept while there is space, rendered in the background.
class TestMapTiles : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void cacheForgetsTheOldest();
    void cacheFindsNearZooms();
    void loaderDeliversWhatWasWanted();
};

void TestMapTiles::cacheForgetsTheOldest()
{
    const QImage tile(kTilePixels, kTilePixels, QImage::Format_RGB32);
    MapTileCache cache(10 * tile.sizeInBytes());
    for (int64_t i = 0; i < 10; ++i) {
        cache.insert({{}, i, 0}, tile);
    }
    QVERIFY(cache.find({{}, 0, 0}) != nullptr); // now the youngest
    cache.insert({{}, 10, 0}, tile);
    QVERIFY(cache.find({{}, 0, 0}) != nullptr);
    QVERIFY(cache.find({{}, 1, 0}) == nullptr);
    QCOMPARE(cache.size(), size_t{10});
    QCOMPARE(cache.bytes(), 10 * tile.sizeInBytes());
    cache.insert({{}, 10, 0}, tile); // the same again takes no more room
    QCOMPARE(cache.bytes(), 10 * tile.sizeInBytes());
}

void TestMapTiles::cacheFindsNearZooms()
{
    MapTileCache cache;
    const auto layer
        = [](int step, uint32_t revision) { return MapLayer{.scale = MapScale(step), .revision = revision}; };
    for (const int step : {0, 8, 40}) {
        cache.insert({layer(step, 1), 0, 0}, QImage(4, 4, QImage::Format_RGB32));
    }
    cache.insert({layer(9, 2), 0, 0}, QImage(4, 4, QImage::Format_RGB32));
    const auto near = cache.layersNear(layer(10, 1));
    QCOMPARE(near.size(), size_t{3});
    QCOMPARE(near[0].scale.step(), 8);
    QCOMPARE(near[1].scale.step(), 0);
    QCOMPARE(near[2].scale.step(), 40);
}

void TestMapTiles::loaderDeliversWhatWasWanted()
{
    MapStackRequest request;
    request.stack = std::make_shared<const MapStack>(
        test::makeSyntheticCheckpoint({.stage = 3, .ranks = 4}), MapSubject{}, MapSource::Shared{});
    request.palette = std::make_shared<const MapPalette>();
    MapLayout layout(request.stack->sizes());
    layout.setRowScale(MapRowScale(10));
    request.layout = std::make_shared<const MapLayout>(layout);
    MapTileLoader loader;
    QHash<qint64, QImage> got;
    connect(&loader, &MapTileLoader::tileReady, this,
        [&](const MapTileKey& key, const QImage& tile) { got.insert(key.x, tile); });
    std::vector<MapTileLoader::Order> orders;
    for (int64_t i = 0; i < 6; ++i) {
        request.x = i * kTilePixels;
        orders.push_back({{{}, i, 0}, request});
    }
    loader.want(orders);
    QTRY_COMPARE(got.size(), 6);
    for (const auto& order : orders) {
        QCOMPARE(got[order.key.x], renderMap(order.request));
    }
}

SHARDSCOPE_UI_TEST(TestMapTiles, CoreOnly)
#include "tst_map_tiles.moc"
