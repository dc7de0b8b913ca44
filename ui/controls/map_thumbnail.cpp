// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/map_thumbnail.h"

#include "ui/layoutmap/map_picture.h"
#include "ui/models/map_palette.h"
#include "ui/text/text.h"

#include <QPainter>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

MapThumbnail::MapThumbnail(Theme& theme, QWidget* parent)
    : LinkButton({}, parent)
    , m_theme(theme)
{
    setObjectName(u"mapThumbnail"_s);
    setContextMenuPolicy(Qt::NoContextMenu); // there is no text to copy
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_wait.setSingleShot(true);
    connect(&m_wait, &QTimer::timeout, this, &MapThumbnail::draw);
    connect(&theme, &Theme::changed, &m_wait, qOverload<>(&QTimer::start));
}

void MapThumbnail::show(const CheckpointPtr& checkpoint, const MapLooksPtr& looks,
    const std::shared_ptr<const std::vector<Finding>>& findings)
{
    m_checkpoint = checkpoint;
    m_looks = looks;
    m_findings = findings;
    setAccessibleName(tr("Partition map of %1").arg(titleText(*checkpoint)));
    setToolTip(tr("Open the partition map"));
    m_wait.start();
}

void MapThumbnail::clear()
{
    m_wait.stop();
    m_drawer.cancel();
    m_checkpoint.reset();
    m_looks.reset();
    m_findings.reset();
    m_picture = {};
    update();
}

QSize MapThumbnail::sizeHint() const
{
    return {240, 104};
}

void MapThumbnail::draw()
{
    if (!m_checkpoint || !m_looks || !isVisible())
        return;
    const double ratio = devicePixelRatioF();
    m_drawer.run<QImage>(
        [checkpoint = m_checkpoint, looks = m_looks, findings = m_findings, palette = mapPaletteFrom(m_theme),
            pixels = (QSizeF(size()) * ratio).toSize(),
            ratio](const std::stop_token&, const std::function<void(QImage)>& deliver) {
            QImage picture = mapThumbnail(checkpoint, looks, *findings, palette, pixels);
            picture.setDevicePixelRatio(ratio);
            deliver(std::move(picture));
        },
        [this](QImage picture) {
            m_picture = std::move(picture);
            update();
        });
}

void MapThumbnail::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.fillRect(rect(), m_theme.colour(ThemeRole::MapBackground));
    if (!m_picture.isNull())
        painter.drawImage(rect(), m_picture);
    painter.setPen(m_theme.colour(underMouse() || hasFocus() ? ThemeRole::Accent : ThemeRole::Border));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void MapThumbnail::resizeEvent(QResizeEvent* event)
{
    LinkButton::resizeEvent(event);
    m_wait.start();
}

void MapThumbnail::showEvent(QShowEvent* event)
{
    LinkButton::showEvent(event);
    m_wait.start();
}

} // namespace shardscope::ui
