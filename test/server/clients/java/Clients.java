// Jedis and Lettuce: Clients PORT RECORDED_PORT (see package_clients_test.py).
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.output.ObjectOutput;
import io.lettuce.core.output.ValueOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.KeyValue;
import redis.clients.jedis.util.SafeEncoder;

public final class Clients {
  static final BufferedReader driver = new BufferedReader(new InputStreamReader(System.in));

  interface Client extends AutoCloseable {
    Object call(String... words);
    List<Object> pipeline(List<String[]> commands) throws Exception;
    List<Object> transaction(List<String[]> commands);
    boolean isReply(RuntimeException error);
    void close();
  }

  interface Opened {
    Client at(int port);
  }

  static final class Jedis implements Client {
    final redis.clients.jedis.RedisClient client;

    Jedis(int port, RedisProtocol protocol) {
      client = redis.clients.jedis.RedisClient.builder()
          .hostAndPort(new HostAndPort("127.0.0.1", port))
          .clientConfig(DefaultJedisClientConfig.builder()
              .clientName("worker").database(0).protocol(protocol).build())
          .build();
    }

    public Object call(String... words) {
      return readable(client.executeCommand(arguments(words)));
    }

    public List<Object> pipeline(List<String[]> commands) {
      List<Response<Object>> replies = new ArrayList<>();
      try (Pipeline pipe = client.pipelined()) {
        for (String[] words : commands) {
          replies.add(pipe.sendCommand(arguments(words)));
        }
      }
      List<Object> found = new ArrayList<>();
      for (Response<Object> reply : replies) found.add(readable(reply.get()));
      return found;
    }

    public List<Object> transaction(List<String[]> commands) {
      try (AbstractTransaction transaction = client.multi()) {
        for (String[] words : commands) transaction.sendCommand(arguments(words));
        List<Object> found = new ArrayList<>();
        for (Object reply : transaction.exec()) found.add(readable(reply));
        return found;
      }
    }

    public boolean isReply(RuntimeException error) {
      return error instanceof JedisDataException;
    }

    public void close() {
      client.close();
    }

    static CommandArguments arguments(String[] words) {
      return new CommandArguments(() -> SafeEncoder.encode(words[0]))
          .addObjects((Object[]) rest(words));
    }

    /** Jedis leaves the replies of commands that it does not know as bytes. */
    static Object readable(Object reply) {
      if (reply instanceof byte[] bytes) return SafeEncoder.encode(bytes);
      if (!(reply instanceof List<?> list)) return reply;
      Map<Object, Object> map = new HashMap<>();
      List<Object> values = new ArrayList<>();
      for (Object each : list) {
        if (each instanceof KeyValue<?, ?> pair) {
          map.put(readable(pair.getKey()), readable(pair.getValue()));
        } else {
          values.add(readable(each));
        }
      }
      return map.isEmpty() ? values : map;
    }
  }

  static final class Lettuce implements Client {
    final boolean maps;
    final RedisClient client;
    final StatefulRedisConnection<String, String> connection;

    Lettuce(int port, ProtocolVersion version) {
      maps = version == ProtocolVersion.RESP3;
      client = RedisClient.create(RedisURI.builder().withHost("127.0.0.1").withPort(port)
          .withClientName("worker").withDatabase(0).build());
      client.setOptions(ClientOptions.builder().protocolVersion(version).build());
      connection = client.connect();
    }

    public Object call(String... words) {
      return connection.sync().dispatch(named(words[0]), output(words[0]), arguments(words));
    }

    public List<Object> pipeline(List<String[]> commands) throws Exception {
      List<RedisFuture<Object>> replies = new ArrayList<>();
      for (String[] words : commands) {
        replies.add(connection.async().dispatch(named(words[0]), output(words[0]),
            arguments(words)));
      }
      List<Object> found = new ArrayList<>();
      for (RedisFuture<Object> reply : replies) found.add(reply.get());
      return found;
    }

    public List<Object> transaction(List<String[]> commands) {
      connection.sync().multi();
      for (String[] words : commands) {
        connection.async().dispatch(named(words[0]), new NestedMultiOutput<>(StringCodec.UTF8),
            arguments(words));
      }
      List<Object> found = new ArrayList<>();
      // Lettuce flattens maps within a transaction.
      for (Object reply : connection.sync().exec()) found.add(maps ? fields("RESP2", reply) : reply);
      return found;
    }

    public boolean isReply(RuntimeException error) {
      return error instanceof RedisCommandExecutionException;
    }

    public void close() {
      connection.close();
      client.shutdown(Duration.ZERO, Duration.ofSeconds(2)); // else it lingers for two seconds
    }

    /** Lettuce has the caller say what a reply is. */
    @SuppressWarnings("unchecked")
    CommandOutput<String, String, Object> output(String name) {
      CommandOutput<String, String, ?> output = switch (name) {
        case "WEIR.TAKE", "WEIR.PEEK", "WEIR.TAKEALL" -> maps
            ? new ObjectOutput<>(StringCodec.UTF8) : new NestedMultiOutput<>(StringCodec.UTF8);
        case "CL.THROTTLE" -> new NestedMultiOutput<>(StringCodec.UTF8);
        case "WEIR.CANCEL", "WEIR.REFUND", "WEIR.RESET" -> new IntegerOutput<>(StringCodec.UTF8);
        default -> new ValueOutput<>(StringCodec.UTF8);
      };
      return (CommandOutput<String, String, Object>) output;
    }

    static CommandArgs<String, String> arguments(String[] words) {
      return new CommandArgs<>(StringCodec.UTF8).addValues(rest(words));
    }

    static ProtocolKeyword named(String name) {
      return new ProtocolKeyword() {
        public byte[] getBytes() {
          return name.getBytes(StandardCharsets.US_ASCII);
        }

        public String toString() {
          return name;
        }
      };
    }
  }

  static String[] rest(String[] words) {
    return Arrays.copyOfRange(words, 1, words.length);
  }

  static void check(boolean holds, Object seen) {
    if (!holds) throw new AssertionError(String.valueOf(seen));
  }

  /** An answer by name: a map in RESP3, names and values in turn in RESP2. */
  static Map<?, ?> fields(String protocol, Object reply) {
    if (protocol.equals("RESP3")) return (Map<?, ?>) reply;
    List<?> flat = (List<?>) reply;
    Map<Object, Object> named = new HashMap<>();
    for (int at = 0; at < flat.size(); at += 2) named.put(flat.get(at), flat.get(at + 1));
    return named;
  }

  static void limits(Client client, String key, String protocol) {
    check(client.call("CL.THROTTLE", key, "15", "30", "60").equals(List.of(0L, 16L, 15L, -1L, 2L)),
        "CL.THROTTLE");
    Map<?, ?> granted = fields(protocol, client.call("WEIR.TAKE", key, "2/1m", "COST", "2"));
    check(granted.get("verdict").equals("granted") && granted.get("remaining").equals(0L), granted);
    Map<?, ?> denied = fields(protocol, client.call("WEIR.PEEK", key, "2/1m"));
    check(denied.get("verdict").equals("denied") && denied.get("grant") == null, denied);
    check((Long) denied.get("retry_after_us") > 20_000_000, denied);
    Map<?, ?> impossible = fields(protocol, client.call("WEIR.TAKE", key, "2/1m", "COST", "3"));
    check(impossible.get("verdict").equals("impossible"), impossible);
    Map<?, ?> deferred =
        fields(protocol, client.call("WEIR.TAKE", key, "2/1m", "PATIENCE", "60000"));
    check(deferred.get("verdict").equals("deferred"), deferred);
    String grant = (String) deferred.get("grant");
    check(client.call("WEIR.CANCEL", key, "2/1m", grant).equals(1L), "CANCEL");
    check(client.call("WEIR.REFUND", key, "2/1m", "1", "ID", "order-17").equals(1L), "REFUND");
    check(client.call("WEIR.RESET", key, "2/1m").equals(1L), "RESET");
    Map<?, ?> both = fields(protocol,
        client.call("WEIR.TAKEALL", "2", key, "acme", "1/1m", "100/1s"));
    check(both.get("key").equals(key) && ((List<?>) both.get("grant")).size() == 2, both);
  }

  static void manyAtOnce(Client client, String key, String protocol) throws Exception {
    halfGranted(protocol, client.pipeline(
        Collections.nCopies(1000, new String[] {"WEIR.TAKE", key, "500/1h"})));
    halfGranted(protocol, client.transaction(
        Collections.nCopies(4, new String[] {"WEIR.TAKE", key, "2/1h"})));
  }

  static void halfGranted(String protocol, List<Object> replies) {
    for (int at = 0; at < replies.size(); ++at) {
      Object verdict = fields(protocol, replies.get(at)).get("verdict");
      check(verdict.equals(at < replies.size() / 2 ? "granted" : "denied"), at + ": " + verdict);
    }
  }

  static void refused(Client client, String part, String... words) {
    try {
      client.call(words);
    } catch (RuntimeException error) {
      check(client.isReply(error) && error.getMessage().contains(part), error);
      return;
    }
    throw new AssertionError(words[0] + " was no error");
  }

  static void errors(Client client) {
    refused(client, "unknown command 'GET'; this server limits rates with", "GET", "key");
    refused(client, "column 3: expected a period", "WEIR.TAKE", "key", "5/1x");
    refused(client, "one database", "SELECT", "1");
    check(client.call("ECHO", "hello").equals("hello"), "no answer after an error");
  }

  /** The driver starts the server anew; calls may fail meanwhile, but soon they are answered. */
  static void restart(Client client) throws Exception {
    System.out.println("restart");
    driver.readLine();
    long deadline = System.nanoTime() + 10_000_000_000L;
    while (true) {
      try {
        client.call("WEIR.TAKE", "after", "1/1us");
        return;
      } catch (RuntimeException error) {
        if (System.nanoTime() > deadline) throw error;
        Thread.sleep(20);
      }
    }
  }

  public static void main(String[] ports) throws Exception {
    Map<String, Opened> clients = new LinkedHashMap<>();
    clients.put("Jedis 8, RESP2", port -> new Jedis(port, RedisProtocol.RESP2));
    clients.put("Jedis 8, RESP3", port -> new Jedis(port, RedisProtocol.RESP3));
    clients.put("Lettuce 7, RESP2", port -> new Lettuce(port, ProtocolVersion.RESP2));
    clients.put("Lettuce 7, RESP3", port -> new Lettuce(port, ProtocolVersion.RESP3));
    for (String name : clients.keySet()) {
      String protocol = name.substring(name.length() - 5);
      try (Client recorded = clients.get(name).at(Integer.parseInt(ports[1]))) {
        recorded.call("WEIR.TAKE", "connect", "1/1m");
      }
      System.out.println("sent " + name);
      try (Client client = clients.get(name).at(Integer.parseInt(ports[0]))) {
        limits(client, name, protocol);
        manyAtOnce(client, name, protocol);
        errors(client);
        restart(client);
      }
      System.out.println("passed " + name);
    }
  }
}
