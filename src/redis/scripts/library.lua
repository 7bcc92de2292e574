redis.register_function('weir_1_take', take)
redis.register_function{function_name = 'weir_1_peek', callback = peek, flags = {'no-writes'}}
redis.register_function('weir_1_cancel', cancel)
redis.register_function('weir_1_refund', refund)
redis.register_function('weir_1_release', release)
redis.register_function('weir_1_renew', renew)
redis.register_function('weir_1_share', share)
