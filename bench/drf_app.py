"""A minimal Django REST framework endpoint with the same payload: models, a serializer, cursor pagination."""

import os
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application

url = urlsplit(os.environ["RELAYBOARD_DATABASE_URL"].replace("+psycopg2", ""))
SQLITE = url.scheme == "sqlite"
DATABASE: dict[str, Any] = (
    {"ENGINE": "django.db.backends.sqlite3", "NAME": url.path[1:]}
    if SQLITE
    else {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": url.path.lstrip("/"),
        "USER": url.username,
        "PASSWORD": url.password or "",
        "HOST": dict(parse_qsl(url.query)).get("host", url.hostname or ""),
        "PORT": str(url.port or ""),
        "CONN_MAX_AGE": None,
    }
)
settings.configure(
    SECRET_KEY="bench",
    ALLOWED_HOSTS=["*"],
    DEBUG_PROPAGATE_EXCEPTIONS=True,
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DATABASES={"default": DATABASE},
    INSTALLED_APPS=["rest_framework", "bench"],
    REST_FRAMEWORK={
        "UNAUTHENTICATED_USER": None,
        "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    },
)
django.setup()

from django.db import models  # noqa: E402  # Django's models need the settings above
from django.urls import path  # noqa: E402
from rest_framework import generics, pagination, serializers  # noqa: E402


class Contact(models.Model):
    uuid = models.CharField(max_length=36)
    name = models.TextField()

    class Meta:
        managed = False
        db_table = "contact"
        app_label = "bench"


class Channel(models.Model):
    uuid = models.CharField(max_length=36)
    name = models.TextField()

    class Meta:
        managed = False
        db_table = "channel"
        app_label = "bench"


class Label(models.Model):
    uuid = models.CharField(max_length=36)
    name = models.TextField()

    class Meta:
        managed = False
        db_table = "label"
        app_label = "bench"


class Message(models.Model):
    uuid = models.CharField(max_length=36)
    workspace_id = models.IntegerField()
    contact = models.ForeignKey(Contact, models.CASCADE)
    channel = models.ForeignKey(Channel, models.CASCADE, null=True)
    labels = models.ManyToManyField(Label, db_table="message_label")
    urn = models.TextField()
    direction = models.TextField()
    type = models.TextField()
    status = models.TextField()
    visibility = models.TextField()
    text = models.TextField()
    broadcast_id = models.IntegerField(null=True)
    created_on = models.CharField(max_length=27) if SQLITE else models.DateTimeField()
    sent_on = models.CharField(max_length=27, null=True) if SQLITE else models.DateTimeField(null=True)
    modified_on = models.CharField(max_length=27) if SQLITE else models.DateTimeField()

    class Meta:
        managed = False
        db_table = "message"
        app_label = "bench"


class RefSerializer(serializers.Serializer[Any]):
    uuid = serializers.CharField()
    name = serializers.CharField()


class MessageSerializer(serializers.ModelSerializer[Any]):
    contact = RefSerializer()
    channel = RefSerializer()
    labels = RefSerializer(many=True)

    class Meta:
        model = Message
        fields = (
            *("uuid", "id", "contact", "urn", "channel", "direction", "type", "status", "visibility", "text"),
            *("labels", "broadcast_id", "created_on", "sent_on", "modified_on"),
        )


class NewestFirst(pagination.CursorPagination):
    page_size = 250
    ordering = ("-created_on", "-id")


class MessageList(generics.ListAPIView[Any]):
    queryset = Message.objects.filter(workspace_id=1).select_related("contact", "channel").prefetch_related("labels")
    serializer_class = MessageSerializer
    pagination_class = NewestFirst


urlpatterns = [path("messages", MessageList.as_view())]
application = get_wsgi_application()
