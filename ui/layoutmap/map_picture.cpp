// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_picture.h"

#include "core/base/build_info.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_legend.h"
#include "ui/layoutmap/map_pinned_rows.h"
#include "ui/layoutmap/map_ruler.h"
#include "ui/layoutmap/rank_gutter.h"
#include "ui/layoutmap/tiles/map_cell_shapes.h"

#include <QFontMetrics>
#include <QPainter>
#include <QSvgGenerator>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMargin = 10;

MapPicture::Part partOf(QWidget* widget, QPoint at, const QSize& size)
{
    MapPicture::Part part;
    part.at = at;
    QPainter painter(&part.drawing);
    widget->render(&painter, {}, QRegion(QRect({}, size)), QWidget::RenderFlags{});
    return part;
}

int captionHeight()
{
    return QFontMetrics(QFont()).height() + kMargin;
}

void paint(const MapPicture& picture, QPainter& painter, bool shapes)
{
    const MapPalette& palette = *picture.cells.palette;
    painter.fillRect(QRect({}, picture.size), QColor(palette.background));
    painter.setPen(QColor(palette.text));
    painter.drawText(QRect(kMargin, 0, picture.size.width() - 2 * kMargin, captionHeight()),
        static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), picture.caption);
    for (const MapPicture::Part& part : picture.parts) {
        painter.drawPicture(part.at, part.drawing);
    }
    painter.save();
    painter.translate(picture.cellsAt);
    painter.scale(1 / picture.ratio, 1 / picture.ratio);
    if (shapes) {
        paintCellShapes(painter, picture.cells);
    } else {
        painter.drawImage(0, 0, renderMap(picture.cells));
    }
    painter.drawPicture(0, 0, picture.overlay);
    painter.restore();
}

} // namespace

MapPicture takeMapPicture(LayoutMapView& view, const QString& caption)
{
    const MapViewport& viewport = *view.viewport();
    MapCanvas& canvas = *view.canvas();
    auto* ruler = view.findChild<MapRuler*>();
    auto* gutter = view.findChild<RankGutter*>();
    auto* pinned = view.findChild<MapPinnedRows*>();
    auto* legend = view.findChild<MapLegend*>();
    MapPicture picture;
    const BuildInfo info = buildInfo();
    picture.caption = caption % u" · Shardscope "_s
        % QString::fromUtf8(info.version.data(), qsizetype(info.version.size()));
    picture.ratio = viewport.pixelRatio();
    const ContentRect visible = viewport.visibleRect();
    picture.cells = canvas.requestFor(visible);
    // As high as the shown rows, not as the window.
    const int height = std::min(
        canvas.height(), static_cast<int>(std::ceil(static_cast<double>(visible.height) / picture.ratio)));
    int y = captionHeight();
    const int left = kMargin + gutter->width();
    picture.parts.push_back(partOf(ruler, {kMargin, y}, ruler->size()));
    y += ruler->height();
    if (!pinned->rows().empty()) {
        picture.parts.push_back(partOf(pinned, {kMargin, y}, pinned->size()));
        y += pinned->height();
    }
    picture.parts.push_back(partOf(gutter, {kMargin, y}, QSize(gutter->width(), height)));
    picture.cellsAt = {left, y};
    y += height + kMargin;
    picture.parts.push_back(partOf(legend, {kMargin, y}, legend->size()));
    y += legend->height();
    picture.size = QSize(left + std::max(canvas.width(), legend->width() - gutter->width()) + kMargin, y);
    QPainter overlay(&picture.overlay);
    overlay.setLayoutDirection(Qt::LeftToRight);
    canvas.paintOverlay(overlay);
    return picture;
}

QImage mapThumbnail(const CheckpointPtr& checkpoint, const MapLooksPtr& looks,
    const std::vector<Finding>& findings, const MapPalette& palette, QSize pixels)
{
    if (!looks || looks->sections.empty() || looks->sectionStates.empty() || pixels.isEmpty())
        return {};
    MapSubject subject;
    subject.state = looks->sectionStates.front();
    const MapSource::Shared shared{.looks = looks, .names = std::make_shared<const MapNames>(checkpoint)};
    const auto stack = std::make_shared<const MapStack>(checkpoint, subject, shared, findings);
    MapLayout layout(stack->sizes());
    const auto rows = static_cast<uint32_t>(std::min<uint64_t>(layout.rows(), UINT32_MAX));
    layout.setScale(MapScale::fitting(layout.columns(), pixels.width()));
    layout.setRowScale(MapRowScale::fitting(rows, pixels.height(), pixels.height()));
    MapStackRequest request{.stack = stack,
        .layout = std::make_shared<const MapLayout>(layout),
        .style = {.mode = looks->hasClasses ? MapColourMode::Kind : MapColourMode::Parameter},
        .palette = std::make_shared<const MapPalette>(palette)};
    constexpr int64_t kTallest = 4096; // a section is at least a pixel high
    request.width = static_cast<int>(layout.contentWidth());
    request.height = static_cast<int>(std::min<int64_t>(layout.contentHeight(), kTallest));
    if (request.width <= 0 || request.height <= 0)
        return {};
    return renderMap(request).scaled(pixels, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
}

QImage imageOf(const MapPicture& picture)
{
    QImage image((QSizeF(picture.size) * picture.ratio).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(picture.ratio);
    QPainter painter(&image);
    paint(picture, painter, false);
    painter.end();
    image.setText(u"Title"_s, picture.caption);
    if (!picture.facts.isEmpty()) { // keywords of the PNG specification
        image.setText(u"Software"_s, u"Shardscope"_s);
        image.setText(u"Description"_s, picture.facts.join(u'\n'));
    }
    return image;
}

QString saveMapPicture(const MapPicture& picture, const SaveTarget& target)
{
    const QString problem = saveFile(target, [&](QIODevice& file) {
        if (!target.path.endsWith(u".svg"_s, Qt::CaseInsensitive))
            return imageOf(picture).save(&file, "PNG");
        QSvgGenerator generator;
        generator.setOutputDevice(&file);
        generator.setSize(picture.size);
        generator.setResolution(picture.overlay.logicalDpiX()); // else Qt scales the recorded picture
        generator.setViewBox(QRect({}, picture.size));
        generator.setTitle(picture.caption.toHtmlEscaped()); // Qt does not escape it
        generator.setDescription(picture.facts.join(u'\n').toHtmlEscaped());
        QPainter painter(&generator);
        paint(picture, painter, true);
        return true;
    });
    return problem.isEmpty() ? QString()
                             : u"The picture could not be written to %1: %2"_s.arg(target.path, problem);
}

} // namespace shardscope::ui
