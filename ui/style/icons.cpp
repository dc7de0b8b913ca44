// SPDX-License-Identifier: Apache-2.0
#include "ui/style/icons.h"

#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QPixmapCache>
#include <QSvgRenderer>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

class SymbolicIconEngine : public QIconEngine
{
public:
    SymbolicIconEngine(const Theme& theme, QString name, ThemeRole role)
        : m_theme(theme)
        , m_name(std::move(name))
        , m_role(role)
    {
    }

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override
    {
        const qreal ratio = painter->device()->devicePixelRatioF();
        QPixmap image = pixmap((QSizeF(rect.size()) * ratio).toSize(), mode, state);
        image.setDevicePixelRatio(ratio);
        painter->drawPixmap(rect, image);
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State /*state*/) override
    {
        QColor colour = m_theme.colour(mode == QIcon::Selected ? ThemeRole::AccentText : m_role);
        if (mode == QIcon::Disabled)
            colour.setAlpha(90);
        const QString key = u"shardscope-icon/%1/%2/%3x%4"_s.arg(m_name, colour.name(QColor::HexArgb))
                                .arg(size.width())
                                .arg(size.height());
        QPixmap pixmap;
        if (QPixmapCache::find(key, &pixmap))
            return pixmap;
        QImage image(size, QImage::Format_ARGB32_Premultiplied);
        image.fill(Qt::transparent);
        QPainter painter(&image);
        QSvgRenderer(u":/icons/"_s % m_name % u".svg"_s).render(&painter);
        painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
        painter.fillRect(image.rect(), colour);
        painter.end();
        pixmap = QPixmap::fromImage(image);
        QPixmapCache::insert(key, pixmap);
        return pixmap;
    }

    QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state, qreal /*scale*/) override
    {
        return pixmap(size, mode, state);
    }

    [[nodiscard]] QIconEngine* clone() const override
    {
        return new SymbolicIconEngine(m_theme, m_name, m_role);
    }

private:
    const Theme& m_theme;
    QString m_name;
    ThemeRole m_role;
};

} // namespace

QIcon themedIcon(const Theme& theme, const QString& name, ThemeRole role)
{
    return QIcon(new SymbolicIconEngine(theme, name, role));
}

} // namespace shardscope::ui
