"""Writers of the formats, after the vendors' documents. They share no code with the
project's readers, so that a mistake would have to be made twice to go unseen."""

from encoders.aws_dms import AwsDms
from encoders.datastream import DatastreamJson
from encoders.dataworks import DataworksKafka
from encoders.debezium import DebeziumFlatJson, DebeziumJson
from encoders.debezium_avro import DebeziumAvro
from encoders.debezium_mongodb import DebeziumMongodb
from encoders.debezium_protobuf import DebeziumProtobuf
from encoders.drs import DrsAvro, DrsJson, DrsJsonC
from encoders.dts import DtsAvro, DtsCanal, DtsShareplex
from encoders.goldengate import GoldengateJson
from encoders.maxwell import Maxwell, OmsMaxwell
from encoders.mongodb_change_stream import MongodbChangeStream
from encoders.oceanbase import OceanbaseAvro, OceanbaseCanal, OpenSourceCanal
from encoders.oms import OmsCanal, OmsDataworks, OmsDefault, OmsDefaultExtend, OmsShareplex
from encoders.oms_debezium import OmsDebezium, OmsDebeziumFlatten
from encoders.rows import FlinkChangelog, Rows
from encoders.tencent import TencentCanal
from encoders.ticdc import TicdcSimple, TidbCanal

ENCODERS = {
    encoder.format: encoder
    for encoder in (
        OmsDefault(),
        OmsDefaultExtend(),
        OmsCanal(),
        OmsDataworks(),
        OmsShareplex(),
        OceanbaseAvro(),
        OceanbaseCanal(),
        OpenSourceCanal(),
        DataworksKafka(),
        DtsAvro(),
        DtsCanal(),
        DtsShareplex(),
        DrsAvro(),
        DrsJson(),
        DrsJsonC(),
        DebeziumJson(),
        DebeziumFlatJson(),
        DebeziumAvro(),
        DebeziumMongodb(),
        MongodbChangeStream(),
        DebeziumProtobuf(),
        Maxwell(),
        OmsMaxwell(),
        OmsDebezium(),
        OmsDebeziumFlatten(),
        TencentCanal(),
        TicdcSimple(),
        TidbCanal(),
        AwsDms(),
        GoldengateJson(),
        DatastreamJson(),
        Rows(),
        FlinkChangelog(),
    )
}
