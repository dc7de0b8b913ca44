// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_checkpoint.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"
#include "ui/style/theme.h"

#include <QApplication>
#include <QElapsedTimer>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <numeric>
#include <vector>

using namespace shardscope;
using namespace shardscope::ui;

// Times the map over 4,096 ranks × 300,000 parameters at 1920 × 1080. Prints figures only.

namespace {

struct Times {
    std::vector<double> milliseconds;

    void print(const char* what)
    {
        std::sort(milliseconds.begin(), milliseconds.end());
        const double sum = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0);
        const auto at
            = [&](size_t percent) { return milliseconds[(milliseconds.size() - 1) * percent / 100]; };
        std::printf("%-34s mean %7.2f ms   median %7.2f   p95 %7.2f   worst %7.2f   (%zu)\n", what,
            sum / static_cast<double>(milliseconds.size()), at(50), at(95), at(100), milliseconds.size());
    }
};

/// What this thread computed, in milliseconds: other programs on the machine do not count.
double computedMilliseconds()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// One frame as the screen sees it: the change, the paint it causes, and the events that arrived meanwhile.
double frame(const std::function<void()>& change)
{
    const double start = computedMilliseconds();
    change();
    QCoreApplication::processEvents();
    return computedMilliseconds() - start;
}

void waitForTiles(LayoutMapView& view)
{
    do {
        QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
        view.canvas()->repaint();
    } while (view.canvas()->isDrawing());
}

void timeMoves(LayoutMapView& view)
{
    auto* viewport = view.viewport();
    const int centre = viewport->size().width() / 2;
    Times still;
    Times zoom;
    Times scroll;
    Times rows;
    for (int i = 0; i < 60; ++i) {
        still.milliseconds.push_back(frame([&] { view.canvas()->repaint(); }));
    }
    for (int i = 0; i < 120; ++i) {
        zoom.milliseconds.push_back(frame([&] { viewport->zoomColumns(i < 60 ? 8 : -4, centre); }));
    }
    for (int i = 0; i < 120; ++i) {
        scroll.milliseconds.push_back(frame([&] { viewport->scrollBy(37, 0); }));
    }
    for (int i = 0; i < 40; ++i) {
        rows.milliseconds.push_back(frame([&] { viewport->zoomRows(2, 500); }));
    }
    for (int i = 0; i < 80; ++i) {
        rows.milliseconds.push_back(frame([&] { viewport->scrollBy(0, 41); }));
    }
    still.print("  repaint, nothing changed");
    zoom.print("  zooming elements");
    scroll.print("  scrolling elements");
    rows.print("  zooming and scrolling ranks");
}

void timeStage(int stage, uint32_t ranks, uint32_t params, const Theme& theme)
{
    test::SyntheticOptions options;
    options.stage = stage;
    options.ranks = ranks;
    options.params = params;
    options.hidden = 4096;
    options.missingRanks = {ranks / 3};
    const auto checkpoint = test::makeSyntheticCheckpoint(options);
    std::printf("ZeRO-%d, %u ranks, %u parameters\n", stage, ranks, params);

    QElapsedTimer timer;
    LayoutMapView view(&theme);
    view.resize(1920, 1080);
    view.show();
    QCoreApplication::processEvents();
    timer.start();
    view.setCheckpoint(checkpoint);
    view.canvas()->repaint();
    std::printf(
        "%-34s %7.2f ms\n", "  first picture (stretched)", static_cast<double>(timer.nsecsElapsed()) / 1e6);
    waitForTiles(view);
    std::printf(
        "%-34s %7.2f ms\n", "  first picture (complete)", static_cast<double>(timer.nsecsElapsed()) / 1e6);

    // The whole picture drawn in one pass on one thread, without any cache.
    const auto& layout = view.viewport()->layout();
    MapStackRequest request;
    request.stack = view.canvas()->stack();
    request.layout = view.viewport()->sharedLayout();
    request.palette = std::make_shared<const MapPalette>(view.canvas()->mapPalette());
    request.width = static_cast<int>(layout.contentWidth());
    request.height = static_cast<int>(layout.contentHeight());
    timer.start();
    const QImage whole = renderMap(request);
    std::printf("%-34s %7.2f ms   (%d x %d)\n", "  complete redraw, one thread",
        static_cast<double>(timer.nsecsElapsed()) / 1e6, whole.width(), whole.height());

    timeMoves(view);
}

} // namespace

int main(int argc, char** argv)
{
    QApplication application(argc, argv);
    const Theme theme;
    const uint32_t ranks = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 4096;
    const uint32_t params = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 300'000;
    timeStage(3, ranks, params, theme);
    timeStage(2, ranks, params, theme);
    return 0;
}
