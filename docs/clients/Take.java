// Waits for leave to act: java -cp 'jars/*' Take.java PORT KEY LIMIT
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.BuilderFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.CommandObject;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.commands.ProtocolCommand;

public final class Take {
  static final ProtocolCommand WEIR_TAKE = "WEIR.TAKE"::getBytes;

  static final class Denied extends Exception {
    final double retryAfter; // seconds

    Denied(long microseconds) {
      retryAfter = microseconds / 1e6;
    }
  }

  static void take(RedisClient client, String key, String limit)
      throws Denied, InterruptedException {
    Map<String, Object> answer = client.executeCommand(new CommandObject<>(
        new CommandArguments(WEIR_TAKE).add(key).add(limit), BuilderFactory.ENCODED_OBJECT_MAP));
    if (Set.of("denied", "impossible").contains(answer.get("verdict"))) {
      throw new Denied((Long) answer.get("retry_after_us"));
    }
    // 0 where granted; deferred: taken, act then.
    TimeUnit.MICROSECONDS.sleep((Long) answer.get("ready_after_us"));
  }

  public static void main(String[] words) throws InterruptedException {
    try (RedisClient client = RedisClient.create("127.0.0.1", Integer.parseInt(words[0]))) {
      take(client, words[1], words[2]);
      System.out.println("act");
    } catch (Denied denied) {
      System.err.println("denied; again in " + denied.retryAfter + " s");
      System.exit(1);
    }
  }
}
